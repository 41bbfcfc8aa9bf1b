"""The loss over training: panels by learning rate and the factor that matters most."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reports.frames import Frames
from reports.plots.axis import value_axis
from reports.plots.crossed import MUTED, Legend, crossed_panels, legend_of, looks_of, panel_width
from reports.plots.loss_lines import LossLines
from reports.plots.squeezed import Squeezed, set_squeezed, squeezed
from reports.plots.style import LIGHT, MAX_LEVELS, LevelStyle, Theme
from reports.records import records
from reports.training.names import LOSS_CURVE
from reports.training.outcomes import RAN, tally
from reports.wording import counted, counted_range, distinct, listed, number, short

MAX_BANDS = 8
"""Lines in a panel up to which they have bands; more are thin."""

MAX_TOLD = 8
"""Lines that the text alternative tells one by one."""

_LINE = {"learnt": "-", "stalled": (0, (3.5, 1.5)), "diverged": (0, (1, 1.2))}
_SETTLED = 0.25  # of the steps, after which the first fall is over
_PLAIN = LevelStyle(color=7, marker="o", line="-")


def plot_losses(table: LossLines, frames: Frames, *, theme: Theme = LIGHT) -> Figure:
    """A line a cell, or a trial; how it ended is told by its dashes and by its last point."""
    by, lines = table.arrangement, table.lines
    looks = looks_of(frames, by.hue, table.hues)
    known = table.frequencies
    ended = [state for state in RAN if (lines["state"] == state).any()]
    legends = [
        legend_of(by.hue, looks, lambda name, look: _entry(name, look, "learnt", theme)),
        Legend(
            title="",
            handles=[
                *(_entry(state, _PLAIN, state, theme) for state in ended),
                *[Line2D([], [], label="frequencies alone", **_thin(theme))][: len(known)],
            ],
        ),
    ]
    rows, columns = (by.row, table.rows), (by.column, table.columns)
    height = 1.45 if len(table.rows) > 1 else 2.2
    made = crossed_panels(rows, columns, legends, height=height)
    axis, thin = _losses(table), _n_together(table) > MAX_BANDS
    last = max(float(table.points["x"].max()), 1.0)
    for (row, column), axes in made.panels.items():
        here = lines[(lines["row"] == row) & (lines["column"] == column)]
        # Muted lines first, so that they hide no other.
        here = here.sort_values("hue", key=lambda hues: hues.map(looks.get) != MUTED, kind="stable")
        for line in records(here):
            points = table.points[table.points["line"] == line.line]
            _draw_line(axes, line, points, looks[line.hue], axis.high, theme, thin=thin)
        if (row, column) in known:
            axes.axhline(known[row, column], zorder=1, **_thin(theme))
        axes.set_xlim(-0.04 * last, 1.05 * last)
        n_ticks = max(2, int(panel_width(len(table.columns), by_row=bool(by.row)) / 0.65))
        value_axis(axes, "x", "linear", n_ticks + 1)
        axes.xaxis.set_major_locator(MaxNLocator(n_ticks, integer=True))
        if row == table.rows[-1]:
            axes.set_xlabel("step")
        if column == table.columns[0]:
            axes.set_ylabel(f"loss ({short(table.unit, 12)})")
    set_squeezed(list(made.panels.values()), axis, _starts(table), theme)
    return made.figure


def _draw_line(
    axes: Axes,
    line: Any,
    points: pd.DataFrame,
    look: LevelStyle,
    top: float,
    theme: Theme,
    *,
    thin: bool,
) -> None:
    """A line with its band, unless it is thin; where it ends beyond ``top`` its mark is there."""
    color = theme.colors[look.color]
    if line.n > 1 and not thin:
        axes.fill_between(points["x"], points["low"], points["high"], color=color, alpha=0.16,
                          linewidth=0)  # fmt: skip
    x, y = [*points["x"]], [*points["mean"]]
    if line.state == "diverged" and x and line.end > x[-1]:
        x, y = [*x, line.end], [*y, line.last]
    axes.plot(x, y, color=color, linestyle=_LINE[line.state], linewidth=0.9 if thin else 1.6)
    end = (x[-1], min(y[-1], top)) if x else (0, top)
    look_of_end = _last(look, line.state, theme, 0.7 if thin else 1)
    axes.plot(*end, **look_of_end, clip_on=False, zorder=4 if line.state == "diverged" else 3)


def _last(look: LevelStyle, state: str, theme: Theme, size: float = 1.0) -> dict[str, Any]:
    """The point at which a line ends."""
    color = theme.colors[look.color]
    diverged = state == "diverged"
    return {
        "marker": "x" if diverged else look.marker,
        "markersize": 7 if diverged else 5 * size,
        "markeredgewidth": 2 if diverged else 1.3 * size,
        "markeredgecolor": color,
        "markerfacecolor": theme.back if state == "stalled" else color,
        "linestyle": "none",
    }


def _entry(name: str, look: LevelStyle, state: str, theme: Theme) -> Line2D:
    style = _last(look, state, theme) | {"linestyle": _LINE[state], "linewidth": 1.6}
    return Line2D([], [], label=name, color=theme.colors[look.color], **style)


def _thin(theme: Theme) -> dict[str, Any]:
    return {"color": theme.text, "linewidth": 0.8, "linestyle": "-"}


def _n_together(table: LossLines) -> int:
    """The most lines in one panel."""
    return int(table.lines.groupby(["row", "column"]).size().max())


def _starts(table: LossLines) -> list[float]:
    """The first value of each line."""
    return [float(value) for value in table.points.groupby("line")["mean"].first()]


def _losses(table: LossLines) -> Squeezed:
    """The axis of the losses: read well after the first fall, and no higher than that began."""
    points, starts = table.points.merge(table.lines[["line", "state"]], on="line"), _starts(table)
    settled = points["x"] >= _SETTLED * points["x"].max()
    kept = points.loc[settled & (points["state"] != "diverged"), ["low", "high"]].to_numpy()
    near = kept[kept <= max(starts)].tolist()
    lowest = [float(points["low"].min()), *table.frequencies.values()]
    return squeezed([*near, *lowest] if near else [], [*starts, *lowest])


def describe_losses(table: LossLines) -> tuple[str, str]:
    """Text alternative and caption of `plot_losses`."""
    by, lines = table.arrangement, table.lines
    told = {"columns": by.column, "rows": by.row, "colours": by.hue}
    named = listed([f"{short(factor)} ({where})" for where, factor in told.items() if factor])
    what = f"{LOSS_CURVE} ({table.unit}) by step{f', by {named}' if named else ''}"
    names = distinct([*dict.fromkeys(lines[["hue", "row", "column"]].to_numpy().ravel())])
    ends = [_told(line, names) for line in records(lines.head(MAX_TOLD))]
    alt = f"Line charts of {what}. {tally(table.counts)}. {'; '.join(ends)}."
    if len(lines) > MAX_TOLD:
        alt += f" {counted(len(lines) - MAX_TOLD, 'more line')} follow."
    caption = f"{what}: {tally(table.counts)}. "
    banded = _n_together(table) <= MAX_BANDS
    if table.together:
        ended = lines[lines["state"] != "diverged"]
        caption += "There are too many to draw one by one."
        if len(ended):
            caption += (
                " A line is the mean over the trials of a panel and colour that ended alike, "
                f"{counted_range(ended['n'], 'trial')}"
            )
            caption += (
                ", its band goes from their 10th to their 90th percentile." if banded else "."
            )
        if (lines["state"] == "diverged").any():
            caption += " A diverged trial is a line of its own."
    elif (lines["n"] > 1).any():
        caption += "A line is the mean over a cell's seeds"
        caption += ", its band goes from their smallest to their largest." if banded else "."
        if table.n_apart:
            caption += (
                f" Where these do not all end alike, in {counted(table.n_apart, 'cell')}, each "
                "trial is a line, so that none is a mean of survivors."
            )
    else:
        caption += "A line is a trial."
    return alt, caption + _looks(table) + _left_out(table)


def _told(line: Any, names: Mapping[str, str]) -> str:
    """How one line ends."""
    name = ", ".join(names[level] for level in (line.hue, line.row, line.column) if level)
    name = f"{name or 'all cells'}{f', seed {line.seed}' if line.seed >= 0 else ''}"
    if line.cell < 0:
        name = f"{name}, {counted(line.n, 'trial')}"
    if math.isnan(line.end):
        return f"{name}: diverged before any finite loss"
    return f"{name}: {line.state}, {number(line.last)} at step {line.end:,.0f}"


def _looks(table: LossLines) -> str:
    """What dashes, crosses, colours and the axis say, in sentences."""
    lines, by = table.lines, table.arrangement
    said = " Dashed: stalled." if (lines["state"] == "stalled").any() else ""
    if (lines["state"] == "diverged").any():
        said += " ×: the last finite loss of a diverged trial."
    n_never = int(lines["end"].isna().sum())
    if n_never:
        said += f" {counted(n_never, 'trial')} diverged before any, × at step 0."
    if by.over and not table.together:
        said += f" Lines of one colour differ in {listed([short(factor) for factor in by.over])}."
    n_muted = len(table.hues) - MAX_LEVELS + 1 if len(table.hues) > MAX_LEVELS else 0
    if n_muted:
        said += f" Grey: {n_muted} more levels of {short(by.hue)}."
    if table.frequencies:
        said += " Thin line: what knowing frequencies alone costs."
    if table.n_averaged > 1:
        said += f" Each point is the mean over {table.n_averaged} recorded steps."
    if math.isfinite(_losses(table).at):
        said += " The axis is squeezed where it is shaded."
    return said


def _left_out(table: LossLines) -> str:
    """What is not seen, in sentences."""
    top = _losses(table).high
    beyond = table.points.loc[table.points["mean"] > top, "line"]
    gone = table.lines.loc[table.lines["last"] > top, "line"]
    n_above = len({*beyond, *gone})
    said = f" {counted(n_above, 'line')} cut off above {number(top)}." if n_above else ""
    if table.n_left_out:
        said += f" {counted(table.n_left_out, 'more diverged trial')}: no line."
    n_lost = sum(int(table.counts.get(state, 0)) for state in ("failed", "not run"))
    if n_lost:
        said += f" {counted(n_lost, 'trial')} that failed or did not run: no line."
    if table.n_undrawn:
        said += f" {counted(table.n_undrawn, 'trial')} left no curve."
    return said
