"""One figure of a paper's table: a mean, how sure its difference to the baseline is, what is lost.

Rows are those of `reports.effects.comparisons`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.wording import MINUS, PERCENT, number, told_end

STAR, DAGGER, NOT_GIVEN = "*", "†", "—"
_PERCENT_BELOW = 0.2  # a wider ratio is told by the ends of its interval
_MOST_PLACES = 6
_WIDTH_DIGITS = 2


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A figure as text.

    Attributes:
        value: The mean.
        width: Half its interval in the same unit, ``±`` before it; as a percentage, or the ends in
            brackets, where ratios are compared; ``""`` if there is none.
        sign: What stands behind it: `STAR` beyond noise, `DAGGER` something is said against it.
        lost: How many paired observations are lost, by what became of them, or ``""``.
        best: Whether it is better than those of all other levels of its factor.
    """

    value: str
    width: str = ""
    sign: str = ""
    lost: str = ""
    best: bool = False


def baseline_entry(reference: float, rows: Sequence[Any], best: bool) -> Entry:
    """The figure of a baseline, with the digits that the levels beside it have.

    Args:
        reference: Its mean.
        rows: The effects of the other levels on the same metric.
        best: Whether it is the best.
    """
    halves = [_half(row, reference) for row in rows]
    half = min((h for h in halves if h > 0 and math.isfinite(h)), default=math.nan)
    return Entry(value=_mean(reference, half), best=best)


def level_entry(row: Any, reference: float, best: bool, flagged: bool) -> Entry:
    """The figure of a level: its baseline's mean and what it changes.

    Args:
        row: The effect.
        reference: The mean of its baseline.
        best: Whether it is the best.
        flagged: Whether something is said against the effect.
    """
    log = row.scale == "log"
    lost = _lost(row)
    mean = reference * row.estimate if log else reference + row.estimate
    if not row.n_pairs or not math.isfinite(mean):
        return Entry(value=NOT_GIVEN, lost=lost)
    half = _half(row, reference)
    width = _width(row, reference, half)
    beyond = not lost and not pd.isna(row.within_noise) and not row.within_noise
    sign = (STAR if beyond else "") + (DAGGER if flagged else "")
    value = number(mean) if width.startswith("[") else _mean(mean, half)
    return Entry(value=value, width=width, sign=sign, lost=lost, best=best)


def _half(row: Any, reference: float) -> float:
    """Half the interval in the metric's unit, the longer one of an interval that is not even."""
    if row.exact or math.isnan(row.low):
        return math.nan
    longer = float(max(row.high - row.estimate, row.estimate - row.low))
    return longer * reference if row.scale == "log" else longer


def _width(row: Any, reference: float, half: float) -> str:
    if math.isnan(half):
        return ""
    if row.scale == "linear":
        return f"± {_rounded(half, _places(half))}" if math.isfinite(half) else "± ∞"
    ends = [told_end(end, row.estimate) for end in (row.low, row.high)]
    share = half / (reference * row.estimate)
    if share < _PERCENT_BELOW:
        return f"± {number(100 * share, _WIDTH_DIGITS)}{PERCENT}"
    if not all(math.isfinite(end) for _, end in ends):
        return "± ∞"
    return f"[{', '.join(f'{word}{number(end * reference)}' for word, end in ends)}]"


def _mean(mean: float, half: float) -> str:
    """A mean with the digits that its interval leaves."""
    if not (math.isfinite(half) and half > 0):
        return number(mean)
    return _rounded(mean, _places(half))


def _places(half: float) -> int:
    """Decimal places that show two digits of half an interval."""
    return _WIDTH_DIGITS - 1 - math.floor(math.log10(half)) if half > 0 else 0


def _rounded(value: float, places: int) -> str:
    if places > _MOST_PLACES or abs(value) >= 1e15:
        return number(value)
    text = f"{abs(value):,.{max(places, 0)}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.,") else text


def _lost(row: Any) -> str:
    """``2 diverged, 1 failed``: paired observations, beside the figure that they are not in."""
    counts = {"diverged": row.n_diverged, "failed": row.n_failed, "no value": row.n_no_value}
    return ", ".join(f"{int(n):,} {said}" for said, n in counts.items() if n)
