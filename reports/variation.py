"""Whether an effect depends on the other factors: does it differ between pairs beyond noise?

Shapes: P pairs of cells, S seeds, m comparisons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDING = 1e-12
"""Numbers closer than this, relative to those they come from, differ by rounding alone."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """The p-value of no variation, and the factor whose levels tell the pairs apart best.

    The factor is empty where the pairs as a whole say more than any one factor.
    """

    p_value: float
    factor: str


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


def contrast_p_value(difference: Floats, one: Mask, other: Mask) -> float:
    """P-value of the (P, S) differences being alike, on average, in two groups of pairs (P,).

    Student's t on the seeds' differences between the means of the groups: where an effect is the
    same in all pairs its expectation is zero, whatever pairs the groups hold and however their
    noise is correlated. NaN without pairs in both groups or with one seed.
    """
    if not one.any() or not other.any() or difference.shape[1] < 2:
        return np.nan
    by_seed = difference[one].mean(axis=0) - difference[other].mean(axis=0)  # (S,)
    mean = by_seed.mean()
    if abs(mean) <= ROUNDING * np.abs(difference).max():
        return 1.0
    error = by_seed.std(ddof=1) / np.sqrt(len(by_seed))
    if error == 0:
        return 0.0
    return float(2 * stats.t.sf(abs(mean / error), len(by_seed) - 1))


def variation_test(
    difference: Floats, groups: Mapping[str, Sequence[tuple[Mask, Mask]]]
) -> Variation:
    """Whether (P, S) differences vary between pairs, and with which factor most.

    `groups` holds for each other factor the pairs at one of its levels and those at its baseline.
    The overall F sees any variation but has little power with few seeds; a contrast between two
    levels has much, for its own. The smallest p-value of all is multiplied by their number.
    """
    n_seeds = np.array([difference.shape[1]], dtype=np.float64)
    overall = variation_p_values(np.array([variation_statistic(difference)]), n_seeds)[0]
    found = [("", float(overall))]
    for factor, contrasts in groups.items():
        found += [(factor, contrast_p_value(difference, *contrast)) for contrast in contrasts]
    known = [(p, factor) for factor, p in found if not np.isnan(p)]
    if not known:
        return Variation(p_value=np.nan, factor="")
    p, factor = min(known, key=lambda entry: entry[0])
    return Variation(p_value=min(1.0, p * len(known)), factor=factor)
