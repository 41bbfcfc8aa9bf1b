"""What cells give against what they cost, with the front of those that nothing as cheap beats."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.pairs import ordered_levels
from reports.plots.axis import value_axis
from reports.plots.style import (
    LIGHT,
    MAX_LEVELS,
    WIDTH,
    LevelStyle,
    Theme,
    drawable,
    level_styles,
    nth_style,
)
from reports.records import records
from reports.tradeoffs.pareto import BEATEN, BEHIND, FRONT, LOST, MAX_TESTED, UNRANKED, Tradeoff
from reports.wording import PERCENT, counted, distinct, listed, number, short

MAX_DRAWN = 1000
"""Cells of one panel that are drawn; the front, the baseline and lost cells always are."""

_TOLD = 6
_STRIP = 0.13  # of an axis, for cells without a mean
_SAID = {
    FRONT: "on the front of means",
    BEHIND: "behind it, within noise",
    BEATEN: "shown to be beaten",
}


def shown_factor(found: Sequence[Tradeoff], ranking: Sequence[str]) -> str:
    """The factor that colours tell: the first that varies here and has looks for all its levels."""
    rows = found[0].rows
    for factor in ranking:
        if factor in rows and 2 <= rows[factor].nunique() <= MAX_LEVELS:
            return factor
    return ""


def plot_tradeoffs(
    found: Sequence[Tradeoff], frames: Frames, hue: str, *, theme: Theme = LIGHT
) -> Figure:
    """A panel for each cost, side by side, with one axis for the outcome."""
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    styles = level_styles(frames)
    rows = pd.concat([one.rows for one in found], ignore_index=True)
    levels = ordered_levels(frames, hue) if hue else [""]
    looks = {
        level: styles[hue, level] if hue else nth_style(0)
        for level in levels
        if not hue or (rows[hue] == level).any()
    }
    for axes, one in zip(panels, found, strict=True):
        _draw_cells(axes, one, looks, hue, theme)
    _outcome_axis(panels, found[0], rows, theme)
    for axes, one in zip(panels, found, strict=True):
        axes.set_xscale(one.cost_scale)
        value_axis(axes, "x", one.cost_scale, most=6 if len(found) == 1 else 4)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_xlabel(f"{drawable(one.cost, 30)}\n({drawable(one.cost_unit, 30)})", fontsize=9)
        axes.grid(visible=True)
        axes.set_axisbelow(True)
    panels[0].set_ylabel(
        f"{drawable(found[0].outcome, 44)}\n({drawable(found[0].unit, 40)})", fontsize=9
    )
    names = distinct(levels, 24)
    handles = [
        Line2D([], [], label=drawable(names[level], 24), **_mark(look, theme, FRONT))
        for level, look in looks.items()
        if hue
    ]
    handles += _statuses(rows, theme)
    figure.legend(
        handles=handles,
        title=drawable(hue) if hue else None,
        loc="outside upper left",
        ncols=min(max(len(handles), 1), 4),
        alignment="left",
    )
    return figure


def _draw_cells(
    axes: Axes, one: Tradeoff, looks: dict[str, LevelStyle], hue: str, theme: Theme
) -> None:
    front = one.of(FRONT)
    if len(front):
        axes.step(front["cost"], front["mean"], where="post", color=theme.muted, linewidth=1)
    rows = one.rows[_drawn(one)]
    for level, look in looks.items():
        here = rows[rows[hue] == level] if hue else rows
        for status in (BEATEN, BEHIND, UNRANKED, FRONT):
            some = here[here["status"] == status]
            if len(some):
                axes.plot(some["cost"], some["mean"], **_mark(look, theme, status))
        lost = here[here["status"] == LOST]
        if len(lost):
            at = _STRIP / 2 if one.better == "higher" else 1 - _STRIP / 2
            axes.plot(
                lost["cost"],
                np.full(len(lost), at),
                transform=axes.get_xaxis_transform(),
                **_cross(theme.colors[look.color]),
            )
    for row in records(one.rows[one.rows["baseline"] & (one.rows["status"] != LOST)]):
        axes.plot(row.cost, row.mean, **_ring(theme))


def _drawn(one: Tradeoff) -> "pd.Series[bool]":
    """The rows that are drawn."""
    always = one.rows["baseline"] | one.rows["status"].isin([FRONT, LOST])
    return always | ((~always).cumsum() <= MAX_DRAWN)


def _outcome_axis(panels: Sequence[Axes], one: Tradeoff, rows: pd.DataFrame, theme: Theme) -> None:
    """The one outcome axis, with a strip at its worse end where cells are lost."""
    means = rows["mean"].dropna().to_numpy(dtype=np.float64)
    log = one.scale == "log"
    ends = np.log(means) if log else means
    low, high = float(ends.min()), float(ends.max())
    room = 0.07 * (high - low) or abs(high) * 0.05 or 1.0
    low, high = low - room, high + room
    if (rows["status"] == LOST).any():
        strip = (high - low) * _STRIP / (1 - _STRIP)
        edge = low if one.better == "higher" else high
        low, high = (low - strip, high) if one.better == "higher" else (low, high + strip)
        for axes in panels:
            axes.axhline(
                math.exp(edge) if log else edge, color=theme.muted, linewidth=0.8, linestyle=":"
            )
    panels[0].set_yscale(one.scale)
    panels[0].set_ylim(*((math.exp(low), math.exp(high)) if log else (low, high)))
    value_axis(panels[0], "y", one.scale)


def _mark(look: LevelStyle, theme: Theme, status: str) -> dict[str, Any]:
    color = theme.colors[look.color]
    return {
        "marker": look.marker,
        "markersize": 6,
        "markeredgecolor": color,
        "markeredgewidth": 1.2,
        "markerfacecolor": color if status in (FRONT, UNRANKED) else "none",
        "alpha": 0.4 if status == BEATEN else 1.0,
        "linestyle": "none",
        "zorder": 3,
    }


def _cross(color: str) -> dict[str, Any]:
    return {"marker": "x", "markersize": 6, "markeredgewidth": 1.6, "color": color,
            "linestyle": "none"}  # fmt: skip


def _ring(theme: Theme) -> dict[str, Any]:
    return {"marker": "o", "markersize": 12, "markerfacecolor": "none", "linestyle": "none",
            "markeredgecolor": theme.text, "zorder": 4}  # fmt: skip


def _statuses(rows: pd.DataFrame, theme: Theme) -> list[Line2D]:
    """What fillings, crosses and rings say, for those there are."""
    plain = LevelStyle(color=7, marker="o", line="-")
    handles = [
        Line2D([], [], label=said, **_mark(plain, theme, status))
        for status, said in _SAID.items()
        if (rows["status"] == status).any()
    ]
    if (rows["status"] == LOST).any():
        handles.append(Line2D([], [], label="lost or marked", **_cross(theme.colors[7])))
    if (rows["baseline"] & (rows["status"] != LOST)).any():
        handles.append(Line2D([], [], label="baseline", **_ring(theme)))
    return handles


def describe_tradeoffs(found: Sequence[Tradeoff], hue: str) -> tuple[str, str]:
    """Text alternative and caption of `plot_tradeoffs`."""
    first = found[0]
    costs = listed([one.cost for one in found])
    ranked = first.better != "neither"
    alt = f"Scatter of {first.outcome} against {costs}, a mark a cell."
    for one in found:
        alt += f" {_front_of(one) if ranked else _ends_of(one)}"
    n = len(first.of(FRONT, BEHIND, BEATEN, UNRANKED))
    caption = (
        f"{first.outcome} ({first.unit}) against {costs}: means over "
        f"{counted(first.n_seeds, 'seed')} of {counted(n, 'cell')}"
        f"{f', coloured by {short(hue)}' if hue else ''}."
    )
    caption += (
        _uncertainty(found)
        if ranked
        else (
            " Neither direction of it is declared better, so that no cell is ahead of another and "
            "there is no front."
        )
    )
    if first.held:
        at = listed([short(held, 60) for held in first.held])
        caption += f" Only cells with {at}; {counted(first.n_unequal, 'other')} left out."
    n_lost = len(first.of(LOST))
    if n_lost:
        caption += (
            f" × apart from the rest: {counted(n_lost, 'cell')} of which a seed diverged, failed, "
            "is marked or gave no value, or a component breaks a contract; never on the front."
        )
    if first.n_absent:
        caption += f" {counted(first.n_absent, 'cell')} without a value in every seed not drawn."
    if not first.rows["baseline"].any():
        caption += " The baseline's cell is not among them."
    hidden = int((~_drawn(first)).sum())
    if hidden:
        caption += f" {counted(hidden, 'cell')} off the front not drawn, for room."
    return alt, caption


def _front_of(one: Tradeoff) -> str:
    front = one.of(FRONT)
    named = front[["name", "cost", "mean"]].head(_TOLD)
    cells = [f"{row.name} ({number(row.cost)}: {number(row.mean)})" for row in records(named)]
    if len(front) > _TOLD:
        cells.append(f"{len(front) - _TOLD:,} more")
    return f"On the front by {one.cost}, the cheapest first: {'; '.join(cells)}."


def _ends_of(one: Tradeoff) -> str:
    rows = one.of(UNRANKED).sort_values("mean", kind="stable")
    low, high = rows.iloc[0], rows.iloc[-1]
    return (
        f"From {number(low['mean'])} ({low['name']}; {one.cost} {number(low['cost'])}) to "
        f"{number(high['mean'])} ({high['name']}; {number(high['cost'])})."
    )


def _uncertainty(found: Sequence[Tradeoff]) -> str:
    """How far the front is to be believed."""
    first = found[0]
    said = (
        f" Less cost and {first.better} {first.outcome} are better. Filled, joined by a line: the "
        "front of means, cells that no other beats at the same cost or less on average."
    )
    if first.n_seeds < 2:
        return said + " With one seed no cell is shown to be off it."
    if not first.n_tested:
        n = len(first.of(FRONT, BEHIND, BEATEN))
        if n < 2:
            return said
        return said + f" More than {MAX_TESTED:,} cells: none is shown to be off it."
    told = [
        f"{len(one.of(BEATEN)):,} of {len(off):,} off the front by {one.cost}"
        for one in found
        if len(off := one.of(BEHIND, BEATEN))
    ]
    if not told:
        return said + " Every cell is on it."
    return said + (
        " A cell is told as beaten only where another that costs no more is shown to be better, "
        f"paired over seeds (false discovery rate 5{PERCENT} over all pairs of cells): "
        f"{listed(told)}. The others off it may be on it too."
    )
