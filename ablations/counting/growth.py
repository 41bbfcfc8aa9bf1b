"""How a count grows with the context."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

LEAST = 4
"""Contexts that tell whether a count is a quadratic: three make one, another confirms it."""


def quadratic_part(counts: Mapping[int, int]) -> Fraction | None:
    """The coefficient c of T² in a count a + b·T + c·T², given at several contexts T.

    None where it is no such quadratic, or where fewer than four contexts cannot tell.
    """
    points = sorted(counts.items())
    if len(points) < LEAST:
        return None
    # Newton's divided differences of second order: each is c.
    slopes = [Fraction(there - here, t - s) for (s, here), (t, there) in pairwise(points)]
    spans = [end - start for (start, _), (end, _) in zip(points, points[2:], strict=False)]
    bends = {
        (after - before) / span
        for (before, after), span in zip(pairwise(slopes), spans, strict=True)
    }
    return bends.pop() if len(bends) == 1 else None
