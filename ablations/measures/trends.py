"""What a profile along depth comes to. Values are sizes: never negative.

Shapes: L blocks, at least two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

VANISHING, EXPLODING = 1e-2, 1e2
"""A sensitivity below, or above, so many times the last block's vanishes, or explodes."""

ROUNDING = 1e-9
"""Logarithms closer than this differ by rounding alone."""


def ratio(values: Sequence[float]) -> float:
    """First over last; NaN where a value is not finite, infinite where nothing reached the last.

    Where nothing reached either there is none: NaN.
    """
    return _over(values[0], values[-1]) if all(map(math.isfinite, values)) else math.nan


def span(values: Sequence[float]) -> float:
    """Largest over smallest; as `ratio` where one is not finite or nothing."""
    if not all(map(math.isfinite, values)):
        return math.nan
    return _over(max(values), min(values))


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm: 0 where one is zero, NaN where one is not finite."""
    if not all(map(math.isfinite, values)):
        return math.nan
    if not all(values):
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def decay(values: Sequence[float]) -> tuple[float, float]:
    """exp(−b) of the least-squares line log v_l = a + b·l, and how well it fits (R²).

    NaN where a value is not finite; the factor is 0 where one is zero, since no block after it
    made up for that, and the fit then 0.
    """
    if not all(map(math.isfinite, values)):
        return math.nan, math.nan
    if not all(values):
        return 0.0, 0.0
    logs = [math.log(value) for value in values]
    center, mean = (len(logs) - 1) / 2, math.fsum(logs) / len(logs)
    rises = math.fsum((layer - center) * value for layer, value in enumerate(logs))
    slope = rises / math.fsum((layer - center) ** 2 for layer in range(len(logs)))
    total = math.fsum((value - mean) ** 2 for value in logs)
    level = max(logs) - min(logs) < ROUNDING  # any line fits
    fit = 1.0 if level else min(1.0, slope * rises / total)
    return math.exp(-slope), fit


def furthest(values: Sequence[float]) -> tuple[int, float]:
    """The block whose value is furthest from the last one's in proportion, and over it.

    The first of several; NaN for the ratio, at block 0, where a value is not finite.
    """
    if not all(map(math.isfinite, values)):
        return 0, math.nan
    ratios = [_over(value, values[-1]) for value in values]
    distances = [abs(math.log(r)) if 0 < r < math.inf else math.inf for r in ratios]
    layer = distances.index(max(distances))
    return layer, ratios[layer]


def largest(values: Iterable[float]) -> float:
    """The largest; NaN where one of them is."""
    known = list(values)
    return math.nan if any(map(math.isnan, known)) else max(known)


def _over(value: float, reference: float) -> float:
    if reference:
        return value / reference
    return math.inf if value else math.nan
