"""Numbers and names as a person reads them."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SHORT = 40
"""Characters of a name in a figure or a sentence; longer ones lose their middle."""

MINUS = "\u2212"
PERCENT = "\u00a0%"  # never at the start of a line
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
MOST_TIMES = 1000.0
"""Ratios that an interval ends beyond, either way, are no figures but a lack of data."""

_SMALL_CHANGE = 0.2  # below it a ratio reads better as a percentage
DIGITS = 3
_MOST_DIGITS = 9


def number(value: float, digits: int = DIGITS) -> str:
    """So many significant digits; whole numbers in full, with thousands separators.

    >>> number(5290752.0), number(0.01234), number(1234.5), number(1.2e-7)
    ('5,290,752', '0.0123', '1,234', '1.2·10⁻⁷')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size < 10**digits and size != int(size):
        size = float(f"{size:.{digits}g}")  # before its digits are counted: 0.9999 is 1.00
    if size >= 1e15 or 0 < size < 1e-3:
        mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        text = f"{mantissa}·10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    elif value == int(value):
        text = f"{size:,.0f}"
    else:
        places = digits - 1 - math.floor(math.log10(size))
        text = f"{size:,.{max(places, 0)}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def signed(value: float, digits: int = DIGITS) -> str:
    """`number` with its sign, also where it is positive."""
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def percent(share: float) -> str:
    """A share as a percentage without a sign: 0.25 is ``25 %``."""
    return f"{number(100 * share)}{PERCENT}"


def change(value: float, scale: str, low: float = math.nan, high: float = math.nan) -> str:
    """The size of an effect: ``2.10 times``, ``−3.40 %`` (small ratios), ``+82,944``.

    Beside the ends of its interval it has their unit, and the digits that tell it from them.
    """
    together = [value, low, high]
    return _write(value, scale, together) + ("" if _small(together, scale) else _times(scale))


def bounds(low: float, high: float, scale: str, beside: float = math.nan) -> str:
    """An interval: ``2.10 to 2.30 times``; a bound beyond all numbers is said in words.

    It has the unit and the digits of the estimate ``beside`` it. Of a ratio within a thousandfold
    it is told no further: ``under 0.001 to over 1,000 times``.
    """
    cut = ["", ""]
    if scale == "log":
        (cut[0], low), (cut[1], high) = (told_end(end, beside) for end in (low, high))
    together = [low, high, beside]
    if math.isinf(high):
        return f"{_write(low, scale, together)} to beyond all bounds"
    if math.isinf(low):
        return f"from beyond all bounds to {_write(high, scale, together)}"
    said = " to ".join(
        f"{word}{number(end, 1) if word else _write(end, scale, together)}"
        for word, end in zip(cut, (low, high), strict=True)
    )
    return said + ("" if _small(together, scale) else _times(scale))


def told_end(end: float, estimate: float) -> tuple[str, float]:
    """The end of a ratio's interval: with a word before it where it is cut at a thousandfold.

    An estimate beyond that is measured, and so near are the ends of its interval.
    """
    if not 1 / MOST_TIMES <= estimate <= MOST_TIMES:
        return "", end
    if end < 1 / MOST_TIMES:
        return "under ", 1 / MOST_TIMES
    return ("over ", MOST_TIMES) if end > MOST_TIMES else ("", end)


def span(low: float, high: float, scale: str) -> str:
    """A range of effects: ``from 0.50 to 2.20 times``, ``from −3 % to +5 %``."""
    said = bounds(low, high, scale)
    return said if said.startswith("from") else f"from {said}"


def _times(scale: str) -> str:
    return " times" if scale == "log" else ""


def _small(together: list[float], scale: str) -> bool:
    """Whether ratios that are told together are told as percentages."""
    known = [value for value in together if not math.isnan(value)]
    return scale == "log" and all(abs(value - 1) < _SMALL_CHANGE for value in known)


def _write(value: float, scale: str, together: list[float]) -> str:
    """One of some numbers, with the digits that tell those apart that differ."""
    percentages = _small(together, scale)

    def written(one: float, digits: int) -> str:
        if percentages:
            return f"{signed(100 * (one - 1), digits)}{PERCENT}"
        return number(one, digits) if scale == "log" else signed(one, digits)

    known = {one for one in together if math.isfinite(one)}
    digits = DIGITS
    while digits < _MOST_DIGITS and len({written(one, digits) for one in known}) < len(known):
        digits += 1
    return written(value, digits)


def counted(n: int, noun: str) -> str:
    """``1 pair``, ``1,200 pairs``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def counted_range(counts: "pd.Series[int]", noun: str) -> str:
    """``2,000 to 5,000 pairs``, or ``5 pairs`` where all counts are 5."""
    low, high = int(counts.min()), int(counts.max())
    return counted(low, noun) if low == high else f"{low:,} to {counted(high, noun)}"


def short(name: str, limit: int = SHORT) -> str:
    """A name on one line, its middle left out where it is longer than ``limit`` characters."""
    line = " ".join(name.split())
    if len(line) <= limit:
        return line
    head = (limit - 1) * 2 // 3
    return f"{line[:head]}…{line[len(line) - (limit - 1 - head) :]}"


def distinct(names: list[str], limit: int = SHORT) -> dict[str, str]:
    """Each name as `short` writes it, or where that is another's too by the part that differs."""
    lines = {name: " ".join(name.split()) for name in names}
    told = {name: short(name, limit) for name in names}
    for text in set(told.values()):
        alike = [lines[name] for name in names if told[name] == text]
        if len(set(alike)) > 1:
            for name in names:
                if told[name] == text:
                    told[name] = _differing(lines[name], alike, limit)
    clear = len(set(told.values())) == len(set(lines.values()))
    return told if clear else lines


def _differing(line: str, alike: list[str], limit: int) -> str:
    """The start of a name, and what tells it from others that start and end as it does."""
    first, last = min(alike), max(alike)
    shorter = min(len(first), len(last))
    apart = next((i for i in range(shorter) if first[i] != last[i]), shorter)
    head = line[: limit // 4]
    if apart < limit - 1 - len(head):
        return line[: limit - 1] + "…"
    start = max(line.rfind(mark, 0, apart) for mark in ", (") + 1
    if apart - start > limit // 4:  # too far before it to be shown together
        start = apart - limit // 8
    return f"{head}…{short(line[start:], limit - len(head) - 1)}"


def listed(names: list[str], limit: int = 6) -> str:
    """``a, b and c``; from ``limit`` names on the rest is counted."""
    if len(names) > limit:
        names = [*names[: limit - 1], f"{len(names) - limit + 1:,} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
