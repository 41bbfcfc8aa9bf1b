"""Whether an effect depends on the other factors: does it differ between pairs beyond noise?

Shapes: P pairs of cells, S seeds, m comparisons.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.intp]

ROUNDING = 1e-12
"""Numbers closer than this, relative to those they come from, differ by rounding alone."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """The p-value of no variation, and the factor whose levels tell the pairs apart best.

    The factor is empty where the pairs as a whole say more than any one factor.
    """

    p_value: float
    factor: str


def pair_means(difference: Floats, values: Floats) -> tuple[Floats, Mask]:
    """(…, P) the mean over seeds of each pair, and whether they differ by more than rounding (…).

    Args:
        difference: (…, P, S) paired differences, in logarithms on a log scale.
        values: (…, P, S) the values they were taken of.
    """
    means = np.asarray(difference.mean(axis=-1), dtype=np.float64)
    spread = means.max(axis=-1) - means.min(axis=-1)
    size = np.maximum(np.abs(values).max(axis=(-2, -1)), np.abs(difference).max(axis=(-2, -1)))
    return means, np.asarray(spread > ROUNDING * size, dtype=bool)


def variation_statistic(difference: Floats) -> float:
    """F of the pairs-by-seeds interaction of (P, S) differences; NaN below two of either.

    The mean over pairs of each seed is taken off first, so that what a seed does to all pairs alike
    is no noise here: F = [S·Σᵢ ēᵢ² / (P−1)] / [Σᵢₛ (eᵢₛ − ēᵢ)² / ((P−1)(S−1))]. Zero where seeds do
    not scatter: that a few agree is no measure of their noise.
    """
    n_pairs, n_seeds = difference.shape
    if n_pairs < 2 or n_seeds < 2:
        return np.nan
    e = difference - difference.mean(axis=0)  # (P, S)
    e /= np.abs(e).max() or 1.0  # F has no unit, and squares of tiny numbers vanish
    means = e.mean(axis=1)  # (P,)
    between = n_seeds * (means**2).sum()
    within = ((e - means[:, None]) ** 2).sum() / (n_seeds - 1)
    return float(between / within) if within > ROUNDING**2 else 0.0


def variation_p_values(statistic: Floats, n_seeds: Floats) -> Floats:
    """P-values (m,) of `variation_statistic` at the lower bound of its degrees of freedom.

    Pairs share cells and seeds, so their noise is correlated and of unequal size, and F with the
    usual (P−1, (P−1)(S−1)) degrees finds too much. With (1, S−1) it never does, whatever the
    correlations. Source: Greenhouse and Geisser 1959, Psychometrika 24.
    """
    return np.asarray(special.fdtrc(1, n_seeds - 1, statistic), dtype=np.float64)


def contrast_p_values(difference: Floats, level: Codes) -> Floats:
    """P-values of the (P, S) differences being alike, on average, at two levels of a factor.

    One for each level that pairs have beside level 0, which all are set against; `level` is that of
    every pair (P,). Student's t on the seeds' differences between the means of the two: where an
    effect is the same in all pairs its expectation is zero, whatever pairs have the levels and
    however their noise is correlated. 1 where seeds do not scatter. Empty without pairs at level 0
    or with one seed.
    """
    n_pairs, n_seeds = difference.shape
    count = np.bincount(level)
    if n_seeds < 2 or n_pairs == 0 or count[0] == 0:
        return np.empty(0)
    total = np.zeros((len(count), n_seeds))
    np.add.at(total, level, difference)
    present = np.flatnonzero(count)
    means = total[present] / count[present, None]  # (levels, S), level 0 first
    by_seed = means[1:] - means[0]
    mean = by_seed.mean(axis=1)
    error = by_seed.std(axis=1, ddof=1) / np.sqrt(n_seeds)
    least = ROUNDING * np.abs(difference).max()
    scatters = error > least
    statistic = np.divide(np.abs(mean), error, out=np.zeros_like(error), where=scatters)
    return np.asarray(2 * special.stdtr(n_seeds - 1, -statistic), dtype=np.float64)


def variation_test(difference: Floats, levels: Mapping[str, Codes]) -> Variation:
    """Whether (P, S) differences vary between pairs, and with which factor most.

    `levels` holds for each other factor the level of every pair (P,), 0 for its baseline. The
    overall F sees any variation but has little power with few seeds; a contrast between two levels
    has much, for its own. The smallest p-value of all is multiplied by their number.
    """
    n_seeds = np.array([difference.shape[1]], dtype=np.float64)
    overall = variation_p_values(np.array([variation_statistic(difference)]), n_seeds)[0]
    found = [("", float(overall))]
    for factor, level in levels.items():
        found += [(factor, p) for p in contrast_p_values(difference, level).tolist()]
    known = [(p, factor) for factor, p in found if not np.isnan(p)]
    if not known:
        return Variation(p_value=np.nan, factor="")
    p, factor = min(known, key=lambda entry: entry[0])
    return Variation(p_value=min(1.0, p * len(known)), factor=factor)


def telling_factor(means: Floats, size: float, levels: Mapping[str, Codes]) -> str:
    """The factor at each of whose levels all pairs have the same mean (P,), or nothing.

    For effects that no seed changes, where no test is needed. `levels` is as in `variation_test`;
    means that differ by rounding alone, relative to `size`, are the same.
    """
    for factor, level in levels.items():
        lowest = np.full(int(level.max()) + 1, np.inf)
        highest = -lowest
        np.minimum.at(lowest, level, means)
        np.maximum.at(highest, level, means)
        if (highest - lowest).max() <= ROUNDING * size:
            return factor
    return ""
