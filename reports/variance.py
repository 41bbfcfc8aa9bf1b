"""Shares of variance: how much of what differs between cells each factor carries."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.estimates import RESOLUTION
from reports.frames import Frames
from reports.pairs import equal_rows
from reports.panel import Panel, panel
from reports.variation import ROUNDING

_NOTHING = 1e-9
"""A smaller share is what rounding leaves."""

_COLUMNS = ["factor", "metric", "share", "balanced", "n_cells", "n_dropped"]


def share_of_variance(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
    """The main effect's share of the variance between cells, for each factor and metric.

    One-way sums of squares of the cells' means over seeds, on the metric's scale, over the cells
    that have every seed, less what noise alone is expected to add: (SS − df·MS) / SS of all, MS of
    the factor by seeds, as in pure noise a factor of many levels carries much by chance. None is
    less than 0. A factor has no share where all cells that differ in it alone are equal in every
    seed, whatever other factors it overlaps with. Source: Kelley 1935, Proceedings of the National
    Academy of Sciences 21.

    Columns: ``factor``, ``metric``, ``share`` (0 to 1; NaN if the cells do not differ, or a single
    seed tells no noise), ``balanced``, ``n_cells``, ``n_dropped`` (cells that lack a seed). Only
    where the factors are balanced against each other
    do the shares add up to at most one; elsewhere they overlap, and ``balanced`` is false.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it, if already computed.
    """
    data = panel(frames) if data is None else data
    factors = list(frames.factors["factor"].unique())
    codes = [pd.factorize(frames.cells[factor])[0] for factor in factors]
    rows: list[tuple[str, str, float, bool, int, int]] = []
    for index, metric in enumerate(data.info["metric"]):
        whole = data.usable[index].all(axis=1) & (len(data.seeds) > 0)
        values = data.values[index][whole]  # (cells, S)
        means = values.mean(axis=1) if whole.any() else np.empty(0)
        kept = [code[whole] for code in codes]
        balanced = bool(whole.any()) and _balanced(kept)
        total = float(((means - means.mean()) ** 2).sum()) if _differ(means) else 0.0
        known = total > 0 and (data.exact[index] or len(data.seeds) > 1)
        least = ROUNDING if data.exact[index] else RESOLUTION
        for place, (factor, code) in enumerate(zip(factors, kept, strict=True)):
            share = np.nan
            if known and _changes_nothing(values, kept[:place] + kept[place + 1 :], least):
                share = 0.0
            elif known:
                found = (_between(means, code) - _by_chance(values, code)) / total
                share = float(np.clip(found, 0.0, 1.0)) if found > _NOTHING else 0.0
            rows.append((factor, metric, share, balanced, len(means), len(whole) - len(means)))
    return pd.DataFrame.from_records(rows, columns=_COLUMNS)


def _differ(means: NDArray[np.float64]) -> bool:
    """Whether cells differ by more than rounding."""
    return len(means) > 0 and bool(np.ptp(means) > ROUNDING * np.abs(means).max())


def _changes_nothing(
    values: NDArray[np.float64], others: list[NDArray[np.intp]], least: float
) -> bool:
    """Whether cells (cells, S) that are equal in all other factors are equal, and some are."""
    alike = np.stack(others, axis=1) if others else np.zeros((len(values), 0), dtype=np.intp)
    group = equal_rows(alike)
    if np.bincount(group).max() == 1:
        return False
    highest = np.full((group.max() + 1, values.shape[1]), -np.inf)
    lowest = -highest
    np.maximum.at(highest, group, values)
    np.minimum.at(lowest, group, values)
    return bool((highest - lowest).max() <= least * np.abs(values).max())


def _by_chance(values: NDArray[np.float64], code: NDArray[np.intp]) -> float:
    """What noise is expected to add between the levels of a factor: df·MS of factor by seeds.

    ``values`` (cells, S) make means of S seeds, and MS has df·(S − 1) degrees of freedom.
    """
    n_seeds = values.shape[1]
    if n_seeds < 2:
        return 0.0
    noise = values - values.mean(axis=1, keepdims=True)
    noise = noise - noise.mean(axis=0)
    added = sum(_between(noise[:, s], code) for s in range(n_seeds))
    return float(added / ((n_seeds - 1) * n_seeds))


def _between(means: NDArray[np.float64], code: NDArray[np.intp]) -> float:
    count = np.bincount(code)
    level = np.bincount(code, weights=means)[count > 0] / count[count > 0]
    return float((count[count > 0] * (level - means.mean()) ** 2).sum())


def _balanced(codes: list[NDArray[np.intp]]) -> bool:
    """Whether the levels of any two factors meet in proportion to their counts."""
    if not codes:
        return True
    n = len(codes[0])
    for i, first in enumerate(codes):
        for second in codes[:i]:
            together = np.zeros((first.max() + 1, second.max() + 1), dtype=np.int64)
            np.add.at(together, (first, second), 1)
            expected = np.outer(np.bincount(first), np.bincount(second))
            if (together * n != expected).any():
                return False
    return True
