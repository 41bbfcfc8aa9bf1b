"""The context as an axis, and the large amounts that are told along it."""

import math
from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.wording import number

_KIBI = 1024
_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def context_axes(axes: Axes, positions: Iterable[Any], unit: str, most: int = 5) -> None:
    """Label a panel along the context: x the positions told, in doublings; y amounts with prefixes.

    Args:
        axes: The panel, with its scale of y set.
        positions: The contexts of its values.
        unit: Of the values.
        most: How many contexts there is room for, the longest first.
    """
    told = sorted({int(position) for position in positions})
    if told[0] > 0:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(context_ticks(told, most)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tokens(round(value))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: amount(value, unit)))


def context_ticks(told: list[int], most: int) -> list[int]:
    """Of ascending contexts those to label: from the longest down, so many steps apart at least."""
    step = math.log(told[-1] / told[0]) / most
    ticks = [told[-1]]
    for context in reversed(told):
        if math.log(ticks[-1] / context) > step:
            ticks.append(context)
    return ticks[::-1]


def tokens(context: int) -> str:
    """``64``, ``8K`` for 8,192: a K is 1,024."""
    return number(context) if context < _KIBI or context % _KIBI else f"{context // _KIBI:,}K"


def amount(value: float, unit: str) -> str:
    """``20 MB`` for 20,000,000 bytes, ``20 M`` of anything else: steps of a thousand."""
    symbol = "B" if unit.startswith("bytes") else ""
    for size, prefix in _STEPS:
        if value >= size:
            return f"{number(value / size)} {prefix}{symbol}"
    return f"{number(value)} {symbol}".rstrip()
