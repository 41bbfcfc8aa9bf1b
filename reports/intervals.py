"""Student's t intervals, and the levels that keep many of them honest together.

Shapes: m comparisons.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ALPHA = 0.05
"""The error rate of a report: intervals are 95 % before they are adjusted."""

Floats = NDArray[np.float64]


def p_values(mean: Floats, error: Floats, degrees: Floats) -> Floats:
    """Two-sided p-values of Student's t, for means (m,) with standard errors (m,).

    Without any spread a mean of zero is certain to be no effect (1), any other certain to be one
    (0).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(mean == 0, 0.0, np.abs(mean) / error)
    return np.asarray(2 * stats.t.sf(statistic, degrees), dtype=np.float64)


def half_widths(error: Floats, degrees: Floats, level: Floats) -> Floats:
    """Half the width of intervals with error rates ``level`` (m,)."""
    return np.asarray(stats.t.isf(level / 2, degrees) * error, dtype=np.float64)


def bonferroni_levels(p: Floats, n: int, alpha: float = ALPHA) -> tuple[Floats, NDArray[np.bool_]]:
    """The level alpha / n for every one of at most ``n`` hypotheses, and which it rejects.

    All intervals at that level hold together with probability 1 − alpha at least.
    """
    levels = np.full(len(p), alpha / n)
    return levels, p <= levels


def holm_levels(p: Floats, alpha: float = ALPHA) -> tuple[Floats, NDArray[np.bool_]]:
    """Holm's step-down levels, and which hypotheses they reject.

    The k-th smallest p-value is tested at alpha / (m − k + 1); the first that is not rejected ends
    the procedure, and its level holds for all after it. Equal p-values share the strictest of their
    levels, so that no order of rows shows. An interval at its level excludes no effect if and only
    if the hypothesis is rejected. Source: Holm 1979, Scandinavian Journal of Statistics 6.
    """
    m = len(p)
    if m == 0:
        return np.empty(0), np.empty(0, dtype=bool)
    rank = stats.rankdata(p, method="min").astype(np.int64)
    levels = alpha / (m - rank + 1)
    failed = p > levels
    if failed.any():
        stop = levels[failed].min()
        levels = np.minimum(levels, stop)
    return levels, p <= levels


def false_coverage_levels(p: Floats, alpha: float = ALPHA) -> tuple[Floats, NDArray[np.bool_]]:
    """Benjamini and Hochberg's rejections, and the level that keeps the intervals' false coverage.

    With R rejections all intervals get the level max(R, 1)·alpha / m, so that an interval excludes
    no effect if and only if its hypothesis is rejected. Source: Benjamini and Yekutieli 2005,
    Journal of the American Statistical Association 100.
    """
    m = len(p)
    if m == 0:
        return np.empty(0), np.empty(0, dtype=bool)
    passed = np.flatnonzero(np.sort(p) <= alpha * np.arange(1, m + 1) / m)
    rejections = int(passed[-1]) + 1 if len(passed) else 0
    levels = np.full(m, max(rejections, 1) * alpha / m)
    return levels, p <= levels
