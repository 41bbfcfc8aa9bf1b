"""Numbers and names as a person reads them."""

import math

SHORT = 40
"""Characters of a name in a figure or a sentence; longer ones lose their middle."""

MINUS = "\u2212"
PERCENT = "\u00a0%"  # never at the start of a line
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SMALL_CHANGE = 0.2  # below it a ratio reads better as a percentage


def number(value: float) -> str:
    """Three significant digits; whole numbers in full, with thousands separators.

    >>> number(5290752.0), number(0.01234), number(1234.5), number(1.2e-7)
    ('5,290,752', '0.0123', '1,234', '1.2·10⁻⁷')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size < 1000 and size != int(size):
        size = float(f"{size:.3g}")  # before its digits are counted: 0.9999 is 1.00
    if size >= 1e15 or 0 < size < 1e-3:
        mantissa, exponent = f"{size:.2e}".split("e")
        digits = mantissa.rstrip("0").rstrip(".")
        text = f"{digits}·10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    elif size >= 1000 or value == int(value):
        text = f"{size:,.0f}"
    else:
        places = 2 - math.floor(math.log10(size))
        text = f"{size:.{max(places, 0)}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def signed(value: float) -> str:
    """`number` with its sign, also where it is positive."""
    return f"+{number(value)}" if value > 0 else number(value)


def percent(share: float) -> str:
    """A share as a percentage without a sign: 0.25 is ``25 %``."""
    return f"{number(100 * share)}{PERCENT}"


def change(value: float, scale: str) -> str:
    """The size of an effect: ``2.10 times``, ``−3.40 %`` (small ratios), ``+82,944``."""
    if scale == "linear":
        return signed(value)
    if math.isfinite(value) and abs(value - 1) < _SMALL_CHANGE:
        return f"{signed(100 * (value - 1))}{PERCENT}"
    return f"{number(value)} times"


def bounds(low: float, high: float, scale: str) -> str:
    """An interval; a bound beyond all numbers is said in words."""
    if scale == "log" and max(abs(low - 1), abs(high - 1)) < _SMALL_CHANGE:
        return f"{signed(100 * (low - 1))}{PERCENT} to {signed(100 * (high - 1))}{PERCENT}"
    write = number if scale == "log" else signed
    if math.isinf(high):
        return f"{write(low)} to beyond all bounds"
    if math.isinf(low):
        return f"from beyond all bounds to {write(high)}"
    return f"{write(low)} to {write(high)}"


def span(low: float, high: float, scale: str) -> str:
    """A range of effects: ``from 0.50 to 2.20 times``, ``from −3 % to +5 %``."""
    said = bounds(low, high, scale)
    said = said if said.startswith("from") else f"from {said}"
    return f"{said} times" if scale == "log" and said[-1].isdigit() else said


def counted(n: int, noun: str) -> str:
    """``1 pair``, ``1,200 pairs``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def short(name: str, limit: int = SHORT) -> str:
    """A name on one line, its middle left out where it is longer than ``limit`` characters."""
    line = " ".join(name.split())
    if len(line) <= limit:
        return line
    head = (limit - 1) * 2 // 3
    return f"{line[:head]}…{line[len(line) - (limit - 1 - head) :]}"


def listed(names: list[str], limit: int = 6) -> str:
    """``a, b and c``; from ``limit`` names on the rest is counted."""
    if len(names) > limit:
        names = [*names[: limit - 1], f"{len(names) - limit + 1:,} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
