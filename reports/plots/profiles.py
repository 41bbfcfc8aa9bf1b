"""A profile along depth, steps or context: small multiples by the two factors that matter most."""

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.plots.axis import value_axis
from reports.plots.context import context_axes
from reports.plots.style import (
    LIGHT,
    WIDTH,
    LevelStyle,
    Theme,
    drawable,
    drawable_names,
    level_styles,
)
from reports.plots.summary import ProfileTable
from reports.wording import counted, distinct, number, short

AXIS_LABEL = {"depth": "block", "step": "step", "context": "context"}
X_LABEL = {**AXIS_LABEL, "context": "context (tokens)"}
_MARKERS = 12  # at most about so many on a line along steps
_TITLE_WIDTH = 56
"""Characters that the titles of all panels may take together."""


def plot_profile(table: ProfileTable, frames: Frames, *, theme: Theme = LIGHT) -> Figure:
    """A line a level of the first factor, a panel a level of the second, all on one scale."""
    columns = list(table.rows["column"].unique())
    width = WIDTH if len(columns) > 1 else 0.65 * WIDTH
    figure = Figure(figsize=(width, 3.1), layout="constrained")
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    styles = level_styles(frames)
    hues = list(table.rows["hue"].unique())
    told, titles = drawable_names(hues, 24), drawable_names(columns, _TITLE_WIDTH // len(columns))
    handles: dict[str, Line2D] = {}
    for axes, column in zip(panels, columns, strict=True):
        for hue in hues:
            rows = table.rows[(table.rows["column"] == column) & (table.rows["hue"] == hue)]
            if rows.empty:
                continue
            look = styles.get((table.hue, hue))
            handle = draw_line(axes, rows, look, told[hue], theme, table.axis)
            handles.setdefault(hue, handle)
        n = table.rows.loc[table.rows["column"] == column].groupby("hue")["n"].max().sum()
        axes.set_title(f"{titles[column]}\n(n = {n:,} trials)" if column else f"n = {n:,} trials")
        axes.set_xlabel(X_LABEL[table.axis])
        axes.grid(axis="y")
        sns.despine(ax=axes)
    if table.scale == "log":
        panels[0].set_yscale("log")
    value_axis(panels[0], "y", table.scale)
    panels[0].set_ylabel(drawable(table.unit, 40))
    if table.axis == "depth":
        panels[0].set_xticks(block_ticks(int(table.rows["x"].max())))
    if table.axis == "context":
        for axes in panels:
            context_axes(axes, table.rows["x"], table.unit)
    if table.hue:
        figure.legend(
            handles=[handles[hue] for hue in hues],
            title=drawable(table.hue),
            loc="outside right upper",
            alignment="left",
        )
    if table.column:
        figure.suptitle(drawable(table.column), x=0.5, fontsize=10, fontweight="bold")
    return figure


def block_ticks(last: int, most: int = 6) -> range:
    """At most so many whole numbers from 0 to the last block."""
    return range(0, last + 1, max(1, -(-(last + 1) // most)))


def draw_line(
    axes: Axes,
    rows: pd.DataFrame,
    look: LevelStyle | None,
    name: str,
    theme: Theme,
    axis: str = "depth",
) -> Line2D:
    """A mean with its band; the line that stands for it in the legend.

    Along steps not every point has a marker: they would hide the line.
    """
    color = theme.colors[look.color if look else 0]
    style: dict[str, Any] = {
        "color": color,
        "marker": look.marker if look else "o",
        "linestyle": look.line if look else "-",
        "linewidth": 1.6,
        "markersize": 4.5,
        "markeredgewidth": 0,
    }
    axes.fill_between(rows["x"], rows["low"], rows["high"], color=color, alpha=0.16, linewidth=0)
    every = max(1, len(rows) // _MARKERS) if axis == "step" else None
    axes.plot(rows["x"], rows["mean"], markevery=every, **style)
    return Line2D([], [], label=name, **style)


def describe_profile(table: ProfileTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_profile`."""
    along = AXIS_LABEL[table.axis]
    by = " and ".join(f for f in (short(table.hue), short(table.column)) if f)
    hues, columns = (distinct([*table.rows[of].astype(str).unique()]) for of in ("hue", "column"))
    told: list[str] = []
    for (column, hue), rows in table.rows.groupby(["column", "hue"], sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        name = (
            ", ".join(level for level in (hues[str(hue)], columns[str(column)]) if level)
            or "all cells"
        )
        told.append(
            f"{name}: from {number(first['mean'])} at {along} {first['x']} to "
            f"{number(last['mean'])} at {last['x']}"
        )
    more = f"; and {len(told) - 8} more lines" if len(told) > 8 else ""
    alt = f"Line chart of {table.profile} by {along}{f', by {by}' if by else ''}. "
    alt += f"{'; '.join(told[:8])}{more}."
    mean = "geometric mean" if table.scale == "log" else "mean"
    caption = (
        f"{table.profile} ({table.unit}): {mean} over all other factors and seeds; band: 10th to "
        f"90th percentile of those cells and seeds. n = {counted(table.n_trials, 'trial')}."
    )
    if table.n_absent:
        caption += f" It does not apply to {counted(table.n_absent, 'trial')}."
    if table.n_cancelled:
        caption += f" Left out: {counted(table.n_cancelled, 'trial')} with a cancelled probe."
    if table.n_lost:
        caption += (
            f" {counted(table.n_lost, 'trial')} asked for but not drawn (lost, not run, or without "
            "a usable value); the means are of the rest alone."
        )
    return alt, caption + table.left_out
