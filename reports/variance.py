"""Shares of variance: how much of what differs between cells each factor carries."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.panel import panel

_COLUMNS = ["factor", "metric", "share", "balanced", "n_cells"]


def share_of_variance(frames: Frames) -> pd.DataFrame:
    """The main effect's share of the variance between cells, for each factor and metric.

    One-way sums of squares of the cells' means over seeds, on the metric's scale, over the cells
    that have every seed. Columns: ``factor``, ``metric``, ``share`` (0 to 1; NaN if the cells do
    not differ), ``balanced``, ``n_cells``. Only where the factors are balanced against each other
    do the shares add up to at most one; elsewhere they overlap, and ``balanced`` is false.
    """
    data = panel(frames)
    factors = list(frames.factors["factor"].unique())
    codes = [pd.factorize(frames.cells[factor])[0] for factor in factors]
    rows: list[tuple[str, str, float, bool, int]] = []
    for index, metric in enumerate(data.info["metric"]):
        whole = data.usable[index].all(axis=1) & (len(data.seeds) > 0)
        means = data.values[index][whole].mean(axis=1) if whole.any() else np.empty(0)
        kept = [code[whole] for code in codes]
        balanced = bool(whole.any()) and _balanced(kept)
        total = float(((means - means.mean()) ** 2).sum()) if len(means) else 0.0
        for factor, code in zip(factors, kept, strict=True):
            share = _between(means, code) / total if total > 0 else np.nan
            rows.append((factor, metric, share, balanced, len(means)))
    return pd.DataFrame.from_records(rows, columns=_COLUMNS)


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
