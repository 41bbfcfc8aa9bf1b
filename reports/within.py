"""What is shown of an effect at each level of the factor it depends on, or in each pair.

Shapes: P pairs of cells, S seeds, L levels that pairs have.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.intervals import p_values
from reports.variation import ROUNDING, Codes

Floats = NDArray[np.float64]
Within = tuple[Floats, Floats, int]
"""(L,) means and their errors, and how many levels share the error rate."""


def effects_within(
    difference: Floats, level: Codes | None = None, n_levels: int | None = None
) -> Within:
    """The mean over the pairs of each level and its error on seeds, from (P, S) differences.

    Args:
        difference: What a level changes in each pair and seed.
        level: The other factor's level of each pair (P,); each pair by itself if None.
        n_levels: How many levels it has; those that pairs have if None.
    """
    by_seed = difference
    if level is not None:
        count = np.bincount(level)
        total = np.zeros((len(count), difference.shape[1]))
        np.add.at(total, level, difference)
        by_seed = total[count > 0] / count[count > 0, None]  # (L, S)
    error = np.zeros(len(by_seed))
    if difference.shape[1] > 1:
        error = by_seed.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    return by_seed.mean(axis=1), error, n_levels or len(by_seed)


def shown_ranges(
    table: pd.DataFrame, rows: NDArray[np.bool_], levels: Floats
) -> tuple[Floats, Floats]:
    """The smallest and the largest of what is shown inside each effect, no effect among it.

    Shown is a mean whose interval, at the error rate of its row shared by Bonferroni, contains no
    effect; of an exact metric every one. The ends are written as estimates are, and are no effect
    in rows other than ``rows``.

    Args:
        table: `reports.effects.pair_estimates`.
        rows: Whose inside is looked at.
        levels: The error rate of each row.
    """
    low, high = np.zeros(len(table)), np.zeros(len(table))
    exact = table["exact"].to_numpy(dtype=bool)
    n_seeds = table["n_seeds"].to_numpy(dtype=np.float64)
    within = table["within"].to_numpy(dtype=object)
    for row in np.flatnonzero(rows):
        if within[row] is None:
            continue
        mean, error, n = within[row]
        if exact[row]:
            shown = np.abs(mean) > ROUNDING * np.abs(mean).max()
        else:
            p = p_values(mean, error, np.full(len(mean), n_seeds[row] - 1))
            shown = (p <= levels[row] / n) & (error > ROUNDING * np.abs(mean))
        low[row], high[row] = mean[shown].min(initial=0.0), mean[shown].max(initial=0.0)
    log = (table["scale"] == "log").to_numpy(dtype=bool)
    with np.errstate(over="ignore"):
        return np.where(log, np.exp(low), low), np.where(log, np.exp(high), high)
