"""An axis of losses that is squeezed above a break, so that what lies far above takes no room."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from reports.plots.axis import value_axis
from reports.plots.style import Theme

_SHARE = 0.2  # of an axis: what the squeezed part takes
_SQUEEZE = 0.4  # of an axis: above this share what lies far above is squeezed
_PAD = 0.07
_LEAST = 0.01
_NEAR = 0.08  # of an axis: ticks that are closer touch


@dataclass(frozen=True, kw_only=True)
class Squeezed:
    """The ends of an axis, and where its scale breaks.

    Attributes:
        low: Its lower end.
        at: Above it everything is squeezed by ``factor``; infinity if nothing is.
        high: Its upper end.
        factor: How much shorter a distance is above the break.
    """

    low: float
    at: float
    high: float
    factor: float = 1.0

    def forward(self, values: ArrayLike) -> NDArray[np.float64]:
        """Where values are on the axis."""
        given = np.asarray(values, dtype=np.float64)
        if not np.isfinite(self.at):
            return given
        return np.where(given > self.at, self.at + (given - self.at) * self.factor, given)

    def back(self, places: ArrayLike) -> NDArray[np.float64]:
        """Which values are at places on the axis."""
        given = np.asarray(places, dtype=np.float64)
        if not np.isfinite(self.at):
            return given
        return np.where(given > self.at, self.at + (given - self.at) / self.factor, given)


def squeezed(near: Sequence[float], far: Sequence[float]) -> Squeezed:
    """An axis that holds all values, squeezed where those far above would take too much of it.

    Args:
        near: Values to be read well; if there are none nothing is squeezed.
        far: Values that may lie far above them.
    """
    low, high = min([*near, *far]), max([*near, *far])
    bottom, top = min(near, default=low), max(near, default=high)
    at = top + _PAD * _reach(bottom, top)
    if not near or high - at <= _SQUEEZE * (high - bottom) or low < bottom:
        pad = _PAD * _reach(low, high)
        return Squeezed(low=low - pad, at=np.inf, high=high + pad)
    start = bottom - _PAD * _reach(bottom, top)
    room = (at - start) * _SHARE / (1 - _SHARE)
    factor = 0.75 * room / (high - at)
    return Squeezed(low=start, at=at, high=at + room / factor, factor=factor)


def _reach(low: float, high: float) -> float:
    """How far apart two values are, and not next to nothing for their size."""
    return max(high - low, _LEAST * max(abs(low), abs(high))) or 1.0


def set_squeezed(
    panels: Sequence[Axes], axis: Squeezed, named: Sequence[float], theme: Theme
) -> None:
    """Set the y axes of panels that share them.

    Args:
        panels: Which.
        axis: What `squeezed` gave.
        named: Values above the break that get a tick where they have room.
        theme: The colours.
    """
    for axes in panels:
        if np.isfinite(axis.at):
            axes.set_yscale("function", functions=(axis.forward, axis.back))
            axes.axhspan(axis.at, axis.high, color=theme.grid, alpha=0.5, linewidth=0, zorder=0)
        axes.set_ylim(axis.low, axis.high)
    end = min(axis.at, axis.high)
    ticks = [float(tick) for tick in MaxNLocator(5).tick_values(axis.low, end)
             if axis.low <= tick <= end]  # fmt: skip
    length = float(axis.forward(axis.high) - axis.low)
    rounded = {float(f"{value:.3g}") for value in named if np.isfinite(axis.at)}
    for value in sorted(rounded, reverse=True):
        places = [float(axis.forward(tick)) for tick in ticks]
        if np.abs(np.array(places) - axis.forward(value)).min(initial=np.inf) > _NEAR * length:
            ticks.append(value)
    value_axis(panels[0], "y", "linear")
    panels[0].yaxis.set_major_locator(FixedLocator(ticks))
    panels[0].yaxis.set_minor_locator(NullLocator())
