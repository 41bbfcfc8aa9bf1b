"""Axes that a person reads: ratios as ``2×`` or ``+5 %``, numbers with separators."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullLocator

from reports.wording import MINUS, PERCENT, number

_STEPS = (1, 2, 3, 6, 12, 25, 50, 100)
_RATIOS = (  # from fine to coarse; the finest whose labels have room is used
    tuple(0.5 + 0.05 * k for k in range(31)),
    tuple(0.5 + 0.1 * k for k in range(26)),
    (0.25, 0.4, 0.5, 0.6, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4),
    (0.25, 0.33, 0.5, 0.75, 1, 1.5, 2, 3, 4),
    (0.1, 0.2, 0.5, 1, 2, 5, 10),
    (0.01, 0.1, 0.3, 1, 3, 10, 100),
    *(tuple(10.0 ** (step * k) for k in range(-300 // step, 300 // step + 1)) for step in _STEPS),
)
_LEAST_GAP = 0.11  # of the axis, so that labels do not touch
_DECADES = 100


def ratio_axis(axes: Axes) -> None:
    """Label an x axis that holds natural logarithms of ratios."""
    low, high = axes.get_xlim()
    reach = max(abs(low), abs(high))
    if reach < math.log(1.15):
        places = MaxNLocator(6).tick_values(100 * math.expm1(low), 100 * math.expm1(high))
        ticks = [math.log1p(p / 100) for p in places if low <= math.log1p(p / 100) <= high]
        labels = [
            f"{'+' if tick > 0 else ''}{_tick(100 * math.expm1(tick))}{PERCENT}" for tick in ticks
        ]
    else:
        ticks = _ratio_ticks(low, high)
        labels = [f"{_tick(float(f'{math.exp(tick):.3g}'))}×" for tick in ticks]
    axes.set_xticks(ticks, labels)


def _ratio_ticks(low: float, high: float) -> list[float]:
    for ratios in _RATIOS:
        ticks = [math.log(ratio) for ratio in ratios if low <= math.log(ratio) <= high]
        gaps = np.diff(ticks)
        # Values that stop short of the axis' ends would leave it half unlabelled.
        reaches = math.log(ratios[0]) <= low and high <= math.log(ratios[-1])
        if reaches and (len(gaps) == 0 or gaps.min() >= _LEAST_GAP * (high - low)):
            return ticks
    return [0.0]


def difference_axis(axes: Axes) -> None:
    """Label an x axis that holds differences."""
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{'+' if value > 0 else ''}{_tick(value)}")
    )


def value_axis(axes: Axes, which: Literal["x", "y"], scale: str, most: int = 6) -> None:
    """Label an axis that holds a metric's values, on its scale, with at most so many numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale == "log":
        low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
        axis.set_major_locator(_FixedLog(low, high, most))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(most - 1))
    axis.set_major_formatter(_Apart())


class _Apart(Formatter):
    """Numbers with as many digits as tell them apart."""

    def __call__(self, value: float, pos: int | None = None) -> str:
        """One number alone."""
        return _tick(value)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """All numbers of an axis."""
        texts: list[str] = []
        for digits in range(4, 13):
            texts = [_tick(value, digits) for value in values]
            if len(set(texts)) == len(texts):
                break
        return texts


class _FixedLog(MaxNLocator):
    """Round values on a log axis: 1, 2, 5 where they fit, else powers of ten, else linear steps."""

    def __init__(self, low: float, high: float, most: int) -> None:
        super().__init__(most - 1)
        self._range = (low, high)
        self._most = most

    def __call__(self) -> list[float]:
        low, high = self._range
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        for digits, step in (
            ((1, 2, 5), 1),
            ((1, 3), 1),
            ((1,), 1),
            ((1,), 2),
            ((1,), 5),
            ((1,), 10),
            ((1,), 20),
        ):
            places = [d * 10.0**k for k in range(first, last + 1, step) for d in digits]
            ticks = [place for place in places if low <= place <= high]
            if len(ticks) <= self._most:
                break
        # Less than a decade: evenly spaced values are round enough, but not over several.
        if len(ticks) < 3 and high < _DECADES * low:
            even = MaxNLocator(self._most - 1).tick_values(low, high)
            return [float(tick) for tick in even if low <= tick <= high]
        return ticks


def _tick(value: float, digits: int = 4) -> str:
    """A round value: no zeros after the last digit, nor the rounding its computation left."""
    text = f"{abs(value):.{digits}g}"
    if "e" in text or abs(value) >= 1000:
        text = number(float(text))
    return f"{MINUS}{text}" if value < 0 else text
