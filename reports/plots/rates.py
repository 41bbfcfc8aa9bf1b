"""The final loss by learning rate: how well each setting does at its best, and how widely."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from matplotlib.transforms import offset_copy

from reports.frames import Frames
from reports.plots.crossed import Legend, crossed_panels, legend_of, looks_of, panel_width
from reports.plots.rate_points import LINE, RatesTable
from reports.plots.squeezed import Squeezed, set_squeezed, squeezed
from reports.plots.style import LIGHT, LevelStyle, Theme
from reports.records import records
from reports.training.names import FINAL_LOSS
from reports.training.outcomes import rate_name, tally
from reports.wording import counted, distinct, listed, number, short

MAX_TOLD = 8
"""Lines that the text alternative tells one by one."""

_APART, _MARGIN = 0.035, 0.12  # of the axis: between lines at one rate, beside the last rate
_TOGETHER = 0.45  # of the way to the next rate: how far lines at one rate spread
_CHARACTER = 0.072  # inches
_PLAIN = LevelStyle(color=7, marker="o", line="-")
_ARROWS = {"lowest": "<", "highest": ">"}


def plot_rates(table: RatesTable, frames: Frames, *, theme: Theme = LIGHT) -> Figure:
    """A line a level, by learning rate; the best rate of each ringed.

    Points are filled where all trials learnt, half where some did and hollow where none did; × is
    at the loss at initialization.
    """
    points, by = table.points, table.arrangement
    rows, columns, hues = (list(dict.fromkeys(points[key])) for key in LINE)
    looks = looks_of(frames, by.hue, hues)
    legends = [
        legend_of(by.hue, looks, partial(_line, theme)),
        Legend(title="", handles=_marks(table, theme)),
    ]
    turned = _turned(points, panel_width(len(columns), by_row=bool(by.row)))
    made = crossed_panels(
        (by.row, rows),
        (by.column, columns),
        legends,
        height=1.7 if by.row else 2.3,
        extra=_CHARACTER * 4 if turned else 0,
    )
    names = {x: rate_name(rate) for x, rate in zip(points["x"], points["rate"], strict=True)}
    low, high = np.log10(points["x"].min()), np.log10(points["x"].max())
    gap = np.diff(np.log10(np.unique(points["x"]))).min()
    spread = min(_TOGETHER * gap, _MARGIN * (high - low))  # of all lines at one rate
    step = min(_APART * (high - low), spread / len(hues))
    for (row, column), axes in made.panels.items():
        here = points[(points["row"] == row) & (points["column"] == column)]
        for i, hue in enumerate(hues):
            line = here[here["hue"] == hue]  # where no trial ran it is broken
            aside = 10 ** (step * (i - (len(hues) - 1) / 2))
            _draw_line(axes, line.assign(x=line["x"] * aside), looks[hue], theme)
        axes.set_xscale("log")
        margin = _MARGIN * (high - low)
        axes.set_xlim(10 ** (low - margin), 10 ** (high + margin))
        axes.set_xticks(list(names), list(names.values()), fontsize=8.5)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelrotation=90 if turned else 0)
        if row == rows[-1]:
            axes.set_xlabel("learning rate")
        if column == columns[0]:
            axes.set_ylabel(f"final loss ({short(table.unit, 12)})")
    caps = [float(cap) for cap in points["cap"].dropna()]
    set_squeezed(list(made.panels.values()), _losses(table), caps, theme)
    return made.figure


def _losses(table: RatesTable) -> Squeezed:
    """The axis of the losses, with room for what diverged."""
    whole = table.points[table.points["diverged"] == 0]
    ends = table.points[["low", "high", "cap"]].to_numpy(dtype=np.float64).ravel()
    near = whole[["low", "high"]].to_numpy(dtype=np.float64).ravel()
    return squeezed(near[np.isfinite(near)].tolist(), ends[np.isfinite(ends)].tolist())


def _draw_line(axes: Axes, line: pd.DataFrame, look: LevelStyle, theme: Theme) -> None:
    color = theme.colors[look.color]
    axes.plot(line["x"], line["mean"], color=color, linestyle=look.line, linewidth=1.4, zorder=2)
    spread = line[line["high"] > line["low"]]
    axes.vlines(spread["x"], spread["low"], spread["high"], color=color, linewidth=2.5, alpha=0.4)
    for point in records(line):
        if point.diverged < point.n:
            style = _marker(look, theme, point.learnt / point.n)
            axes.plot(point.x, point.mean, **style, zorder=3)
        if point.diverged:
            axes.plot(point.x, point.cap, **_cross(color), zorder=4)
        if point.best:
            axes.plot(point.x, point.mean, **_ring(theme), zorder=5)
        if point.edge:
            away = -11 if point.edge == "lowest" else 11
            beside = offset_copy(axes.transData, axes.get_figure(root=True), x=away, units="points")
            axes.plot(point.x, point.mean, transform=beside, **_arrow(point.edge, theme))


def _turned(points: pd.DataFrame, width: float) -> bool:
    """Whether the names of rates would touch on an axis so wide (inches)."""
    ordered = points[["x", "rate"]].drop_duplicates().sort_values("x")
    places = np.log10(ordered["x"].to_numpy(dtype=np.float64))
    gaps = np.diff(places) / (places[-1] - places[0]) * width / (1 + 2 * _MARGIN)
    longest = max(len(rate_name(rate)) for rate in ordered["rate"])
    return bool(gaps.min() < _CHARACTER * longest + 0.06)


def _line(theme: Theme, name: str, look: LevelStyle) -> Line2D:
    color = theme.colors[look.color]
    style = _marker(look, theme, 1.0) | {"linestyle": look.line, "linewidth": 1.4}
    return Line2D([], [], label=name, color=color, **style)


def _marks(table: RatesTable, theme: Theme) -> list[Line2D]:
    """What the looks of points say, for those there are."""
    points = table.points
    alive = points[points["diverged"] < points["n"]]
    share = alive["learnt"] / alive["n"]
    handles = [
        Line2D([], [], label=said, **_marker(_PLAIN, theme, filled))
        for said, filled, any_ in (
            ("all learnt", 1.0, (share == 1).any()),
            ("some learnt", 0.5, share.between(0, 1, inclusive="neither").any()),
            ("none learnt", 0.0, (share == 0).any()),
        )
        if any_
    ]
    if points["diverged"].any():
        handles.append(Line2D([], [], label="diverged", **_cross(theme.colors[7])))
    if points["best"].any():
        handles.append(Line2D([], [], label="best rate", **_ring(theme)))
    for edge in _ARROWS:
        if (points["edge"] == edge).any():
            handles.append(Line2D([], [], label=f"{edge} tried", **_arrow(edge, theme)))
    return handles


def _marker(look: LevelStyle, theme: Theme, learnt: float) -> dict[str, Any]:
    """Filled where all trials learnt, half where some did, hollow where none did."""
    color = theme.colors[look.color]
    return {
        "marker": look.marker,
        "markersize": 6,
        "markeredgecolor": color,
        "markeredgewidth": 1.4,
        "markerfacecolor": color if learnt else theme.back,
        "markerfacecoloralt": theme.back,
        "fillstyle": "full" if learnt in (0, 1) else "bottom",
        "linestyle": "none",
    }


def _cross(color: str) -> dict[str, Any]:
    return {"marker": "x", "markersize": 7, "markeredgewidth": 2, "color": color,
            "linestyle": "none"}  # fmt: skip


def _ring(theme: Theme) -> dict[str, Any]:
    return {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": "none",
            "markeredgecolor": theme.text, "markeredgewidth": 1.1}  # fmt: skip


def _arrow(edge: str, theme: Theme) -> dict[str, Any]:
    return {"marker": _ARROWS[edge], "markersize": 5, "color": theme.text, "linestyle": "none"}


def describe_rates(table: RatesTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_rates`."""
    by = table.arrangement
    named = listed([short(factor) for factor in (by.hue, by.column, by.row) if factor])
    lines = [line for _, line in table.points.groupby(LINE, sort=False)]
    names = distinct([*dict.fromkeys(table.points[LINE].to_numpy().ravel())])
    told = [_told(line, names) for line in lines[:MAX_TOLD]]
    alt = (
        f"Line chart of the final loss by learning rate{f', by {named}' if named else ''}. "
        f"{'; '.join(told)}."
    )
    if len(lines) > MAX_TOLD:
        alt += f" {counted(len(lines) - MAX_TOLD, 'more line')} follow."
    over = listed([*(short(factor) for factor in by.over), "seeds"])
    caption = (
        f"{FINAL_LOSS} ({table.unit}) by learning rate{f', by {named}' if named else ''}: means "
        f"over {over}; bars: the smallest to the largest trial. {tally(table.counts)}."
    )
    if table.points["best"].any():
        caption += " Ringed: the lowest mean among the rates at which the fewest diverged."
    if table.points["diverged"].any():
        caption += (
            " × marks rates at which trials diverged, at their loss at initialization: that is "
            "what they count with, as the cap of arXiv:2309.14322."
        )
    if table.n_capped:
        caption += (
            f" {counted(table.n_capped, 'trial')} ended above the loss at initialization without "
            "diverging, and count with it too."
        )
    if np.isfinite(_losses(table).at):
        caption += " The axis is squeezed where it is shaded."
    n_edge = int((table.points["edge"] != "").sum())
    if n_edge:
        caption += (
            f" The best rate of {n_edge:,} of {counted(len(lines), 'line')} is the lowest or the "
            "highest tried: a better one may lie beyond."
        )
    n_lost = int(table.points["n_lost"].sum())
    if n_lost:
        caption += (
            f" {counted(n_lost, 'trial')} asked for that failed or did not run: the means are of "
            "the rest alone, and a line that lacks one has no best rate."
        )
    return alt, caption


def _told(line: pd.DataFrame, names: Mapping[str, str]) -> str:
    """A line's points, and its best rate."""
    levels = line[LINE].iloc[0]
    name = ", ".join(
        names[level] for level in (levels["hue"], levels["column"], levels["row"]) if level
    )
    points = [_told_point(point) for point in records(line)]
    best = line[line["best"]]
    said = f"best at {best['rate'].iloc[0]}" if len(best) else "no best rate"
    return f"{name or 'all cells'}: {', '.join([*points, said])}"


def _told_point(point: Any) -> str:
    if not point.n:
        return f"nothing ran at {point.rate}"
    if point.diverged == point.n:
        return f"diverged at {point.rate}"
    some = f" ({point.diverged} of {point.n} diverged)" if point.diverged else ""
    return f"{number(point.mean)} at {point.rate}{some}"
