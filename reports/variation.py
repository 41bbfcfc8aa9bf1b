"""Whether an effect depends on the other factors: does it differ between pairs beyond noise?

Shapes: P pairs of cells, S seeds, m comparisons.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Numbers closer than this, relative to those they come from, differ by rounding alone."""


def pair_means(difference: Floats, values: Floats) -> tuple[Floats, bool]:
    """(P,) the mean over seeds of each pair, and whether they differ by more than rounding.

    Args:
        difference: (P, S) paired differences, in logarithms on a log scale.
        values: The values they were taken of.
    """
    means = np.asarray(difference.mean(axis=1), dtype=np.float64)
    spread = means.max() - means.min()
    size = max(np.abs(values).max(), np.abs(difference).max())
    return means, bool(spread > ROUNDING * size)


def variation_statistic(difference: Floats) -> float:
    """F of the pairs-by-seeds interaction of (P, S) differences; NaN below two of either.

    The mean over pairs of each seed is taken off first, so that what a seed does to all pairs alike
    is no noise here: F = [S·Σᵢ ēᵢ² / (P−1)] / [Σᵢₛ (eᵢₛ − ēᵢ)² / ((P−1)(S−1))]. Infinite where
    pairs differ and no seed changes them.
    """
    n_pairs, n_seeds = difference.shape
    if n_pairs < 2 or n_seeds < 2:
        return np.nan
    e = difference - difference.mean(axis=0)  # (P, S)
    e /= np.abs(e).max() or 1.0  # F has no unit, and squares of tiny numbers vanish
    means = e.mean(axis=1)  # (P,)
    between = n_seeds * (means**2).sum()
    within = ((e - means[:, None]) ** 2).sum() / (n_seeds - 1)
    if within == 0:
        return np.inf if between > 0 else 0.0
    return float(between / within)


def variation_p_values(statistic: Floats, n_seeds: Floats) -> Floats:
    """P-values (m,) of `variation_statistic` at the lower bound of its degrees of freedom.

    Pairs share cells and seeds, so their noise is correlated and of unequal size, and F with the
    usual (P−1, (P−1)(S−1)) degrees finds too much. With (1, S−1) it never does, whatever the
    correlations. Source: Greenhouse and Geisser 1959, Psychometrika 24.
    """
    return np.asarray(stats.f.sf(statistic, 1, n_seeds - 1), dtype=np.float64)
