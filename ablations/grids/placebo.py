"""`placebo: true`: a factor whose levels differ in nothing but their random stream.

Its effect is what chance alone makes of a comparison in this grid: a factor that shows no larger
one shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ablations.grids.document import DataPath, Fault

PLACEBO = "placebo"
"""The key that asks for it, and the name of the factor, which no other one may have."""

LEVELS = {"first": "", "second": PLACEBO}
"""Its levels, the baseline first, with the stream of a trial's seed that all is drawn from; the
first draws from the seed itself, as a grid without placebo does, so that results are shared."""


def factor_path(name: str) -> DataPath:
    """Where a factor stands in a grid."""
    return (PLACEBO,) if name == PLACEBO else ("factors", name)


def level_path(name: str, position: int) -> DataPath:
    """Where a level of a factor stands in a grid."""
    return (PLACEBO,) if name == PLACEBO else ("factors", name, position)


def misplaced(data: Mapping[str, Any]) -> Fault | None:
    """The fault of a grid that writes it as one of its factors."""
    factors = data.get("factors")
    if not isinstance(factors, dict) or PLACEBO not in factors:
        return None
    words = "a grid does not give its levels: write placebo: true beside factors"
    return Fault(("factors", PLACEBO), words, True)
