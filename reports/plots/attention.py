"""Attention maps: where each query looks, and what it must not see.

Shapes: T tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from reports.maps import AttentionMap, MapFigure
from reports.plots.axis import value_axis
from reports.plots.panels import Panels
from reports.plots.style import LIGHT, Theme, drawable_names
from reports.wording import counted, distinct, listed, number

MAX_COLUMNS = 4
MAX_SIDE = 128
"""Pixels; of a longer map each pixel shows the largest of several weights."""

_PANELS = Panels(
    width=1.32, height=1.32, left=0.65, right=1.15, top=0.75, bottom=0.5, across=0.38, down=0.85
)
_DECADES = 4
_COLORS = "viridis"


def shown(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights (T, T) in at most `MAX_SIDE` rows and columns, each the largest of a block.

    A block is zero only if all of its weights are.
    """
    block = -(-len(weights) // MAX_SIDE)
    if block == 1:
        return weights
    side = -(-len(weights) // block)
    padded = np.zeros((side * block, side * block), dtype=weights.dtype)
    padded[: len(weights), : len(weights)] = weights
    blocks = padded.reshape(side, block, side, block)
    high, low = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    return np.asarray(np.where(high > 0, high, low))


def limits(maps: Sequence[AttentionMap]) -> tuple[float, float]:
    """The ends of the colour scale: of the positive weights in rows that see several keys.

    At most four decades, so that the large ones stay apart.
    """
    several = np.concatenate([map_.several for map_ in maps])
    high = float(several.max(initial=0.0)) or 1.0
    low = float(several.min(initial=high))
    low = max(low, high / 10**_DECADES)
    return (low, high) if low < high else (high / 10, high)


def plot_maps(figure_of: MapFigure, *, theme: Theme = LIGHT) -> Figure:
    """A panel a map; weights that are exactly zero are hatched, not coloured."""
    maps = figure_of.maps
    n_columns = min(len(maps), MAX_COLUMNS)
    figure, panels = _PANELS.make(len(maps), n_columns)
    ends = limits(maps)
    names = drawable_names((map_.level for map_ in maps), 24)
    for i, (axes, map_) in enumerate(zip(panels, maps, strict=True)):
        _draw_map(axes, map_, names[map_.level], ends, theme)
        if i % n_columns == 0:
            axes.set_ylabel("query position")
        if i + n_columns >= len(maps):
            axes.set_xlabel("key position")
    _draw_scale(figure, maps, ends, panels)
    figure.legend(handles=[Patch(**_hatch(theme), label="exactly 0")], loc="upper right")
    return figure


def _draw_scale(
    figure: Figure, maps: Sequence[AttentionMap], ends: tuple[float, float], panels: Sequence[Axes]
) -> None:
    """The colour bar, with a point at an end that weights go beyond."""
    width, _ = figure.get_size_inches()
    top, bottom = panels[0].get_position().y1, panels[-1].get_position().y0
    place = (1 - 0.85 / width, bottom, 0.13 / width, top - bottom)
    every = np.concatenate([map_.weights[map_.weights > 0] for map_ in maps])  # not a NaN
    low, high = ends
    below, above = bool((every < low).any()), bool((every > high).any())
    bar: Any = figure.colorbar(
        ScalarMappable(LogNorm(low, high), _COLORS),
        cax=figure.add_axes(place),
        extend=("both" if above else "min") if below else "max" if above else "neither",
        extendfrac=0.04,
    )
    bar.solids.set_rasterized(True)  # one small image instead of 256 shapes
    bar.outline.set_visible(False)
    bar.set_label("weight, log scale")
    bar.minorticks_off()
    value_axis(bar.ax, "y", "log")


def _draw_map(
    axes: Axes, map_: AttentionMap, name: str, ends: tuple[float, float], theme: Theme
) -> None:
    weights = shown(map_.weights)
    n = len(map_.weights)
    axes.add_patch(Rectangle((-0.5, -0.5), n, n, zorder=0, **_hatch(theme)))
    known = np.where(weights > 0, weights, ends[0])
    pixels = colormaps[_COLORS](LogNorm(*ends)(known), bytes=True)
    pixels[weights == 0] = 0  # clear, so that the hatch is seen
    pixels[~np.isfinite(weights)] = to_rgba_array(theme.colors[1])[0] * 255
    axes.imshow(
        pixels,
        interpolation="none",
        extent=(-0.5, n - 0.5, n - 0.5, -0.5),
        zorder=1,
    )
    ticks = _ticks(n)
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    if map_.n_broken:
        axes.text(0.98, 0.95, "not finite", ha="right", va="top", color=theme.colors[1],
                  transform=axes.transAxes)  # fmt: skip
    title = f"{name}\nlayer {map_.layer}, head {map_.head}"
    if map_.ahead.size:
        title += "\nREADS THE FUTURE"
        axes.set_title(title, fontsize=9, y=1.0, color=theme.colors[1], fontweight="bold")
    else:
        axes.set_title(title, fontsize=9, y=1.0)


def _ticks(n: int) -> list[int]:
    """About four round positions from 0."""
    step = next((s for s in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if n / s <= 4), n)
    return list(range(0, n, step))


def _hatch(theme: Theme) -> dict[str, Any]:
    return {"facecolor": theme.grid, "edgecolor": theme.muted, "hatch": "////", "linewidth": 0}


def unmasked(figure_of: MapFigure) -> str:
    """A warning of maps in which a query sees a later key, or nothing."""
    names = distinct([map_.level for map_ in figure_of.maps])
    told = [
        f"{names[m.level]}, layer {m.layer}, head {m.head}: {m.ahead.size:,} of {m.n_above:,} "
        f"weights above the diagonal are not zero, the largest {number(float(m.ahead.max()))}"
        for m in figure_of.maps
        if m.ahead.size
    ]
    return f"Reads the future: {'; '.join(told)}." if told else ""


def describe_maps(figure_of: MapFigure) -> tuple[str, str]:
    """Text alternative and caption of `plot_maps`."""
    maps = figure_of.maps
    names = distinct([map_.level for map_ in maps])
    told = [_told(map_, names[map_.level]) for map_ in maps]
    alt = f"{counted(len(maps), 'attention map')}, query by key position. {'; '.join(told)}."
    seeds = sorted({map_.seed for map_ in maps})
    heads = list(dict.fromkeys(f"layer {m.layer}, head {m.head}" for m in maps))
    caption = (
        f"Attention weights at {listed(heads)}, of the baseline cell and of cells that differ from "
        "it in one level, "
        + (f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {listed([str(s) for s in seeds])}")
        + ", first sequence. Hatched: exactly zero; rows that see one key are beyond the scale."
    )
    block = max(-(-len(map_.weights) // MAX_SIDE) for map_ in maps)
    if block > 1:
        caption += f" Each pixel is the largest of {block} × {block} weights."
    if not any(map_.ahead.size + map_.n_broken for map_ in maps):
        caption += " No query sees a later key: all weights above the diagonals are zero."
    return alt, caption + figure_of.left_out


def _told(map_: AttentionMap, name: str) -> str:
    where = f"{name}, layer {map_.layer}, head {map_.head}"
    several = map_.several
    told = [
        f"{map_.ahead.size:,} of {map_.n_above:,} weights above the diagonal are NOT zero: it "
        "reads the future"
        if map_.ahead.size
        else f"all {map_.n_above:,} weights above the diagonal are zero",
        f"largest weight {number(float(several.max()))} among rows that see several keys"
        if several.size
        else "no row sees more than one key",
    ]
    if map_.n_broken:
        told[0] = f"{map_.n_broken:,} weights are not finite"
    return f"{where}: {'; '.join(told)}"
