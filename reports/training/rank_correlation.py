"""Spearman's rank correlation and how sure it is.

Shapes: n observations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reports.estimates import RESOLUTION

Floats = NDArray[np.float64]

LEAST = 5
"""Observations below which nothing is said: so few are often in order by chance."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Spearman's rank correlation of two columns.

    Fisher's z = artanh(ρ) has the standard error √((1 + ρ²/2) / (n − 3)). Source: Bonett and Wright
    2000, Psychometrika 65. A perfect order, whose z is infinite, is as sure as the nearest order
    that is not perfect: few observations are often in order by chance.

    Attributes:
        value: −1 to 1; NaN below `LEAST` observations, or where a column is alike in all of them.
        n: Observations.
    """

    value: float
    n: int

    @property
    def p_value(self) -> float:
        """Two-sided, of no correlation."""
        z, error = self._fisher()
        return float(2 * stats.norm.sf(abs(z) / error))

    def interval(self, level: float) -> tuple[float, float]:
        """Its ends at an error rate."""
        z, error = self._fisher()
        width = float(stats.norm.isf(level / 2)) * error
        low, high = float(np.tanh(z - width)), float(np.tanh(z + width))
        return min(low, self.value), max(high, self.value)

    def _fisher(self) -> tuple[float, float]:
        """z and its standard error."""
        if np.isnan(self.value):
            return np.nan, np.nan
        most = 1 - 12 / (self.n**3 - self.n)  # of an order with two neighbours exchanged
        value = float(np.clip(self.value, -most, most))
        return float(np.arctanh(value)), float(np.sqrt((1 + value**2 / 2) / (self.n - 3)))


def rank_correlation(x: Floats, y: Floats) -> RankCorrelation:
    """Of (n,) with (n,); values that differ by less than float32 tells are ties."""
    ranks = [stats.rankdata(_places(values)) for values in (x, y)]
    if len(x) < LEAST or any(np.ptp(rank) == 0 for rank in ranks):
        return RankCorrelation(value=np.nan, n=len(x))
    value = float(np.clip(np.corrcoef(*ranks)[0, 1], -1.0, 1.0))
    return RankCorrelation(value=value, n=len(x))


def all_alike(values: Floats) -> bool:
    """Whether (n,) values are ties."""
    return bool(_places(values).max(initial=0.0) == 0)


def _places(values: Floats) -> Floats:
    """(n,) the place of each value among the distinct ones, from 0."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    apart = np.diff(ascending) > RESOLUTION * np.abs(ascending).max(initial=0.0)
    places = np.zeros(len(values))
    places[order[1:]] = np.cumsum(apart)
    return places
