"""Several profiles at once: a panel each, by the factor that matters most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.plots.axis import value_axis
from reports.plots.context import context_axes
from reports.plots.panels import Panels
from reports.plots.profiles import AXIS_LABEL, X_LABEL, block_ticks, draw_line
from reports.plots.style import LIGHT, Theme, drawable, drawable_names, level_styles
from reports.plots.summary import ProfileTable
from reports.records import records
from reports.wording import counted, distinct, listed, number, short

MAX_COLUMNS = 4
NEGLIGIBLE = 1e-5
"""Of the largest profile under the same level: what stays below is not drawn."""

_NARROW = Panels(
    width=1.28, height=1.1, left=0.95, right=0.1, top=0.72, bottom=0.5, across=0.68, down=0.68
)
_WIDE = replace(_NARROW, width=1.98, height=1.3, left=0.7)
_LEGEND_ROW, _LEGEND_COLUMNS = 0.2, 4
_LEAST_RATIO = 1.5  # that a panel spans, so that a flat line looks flat
_MARGIN = 0.05  # of an axis that several panels share


@dataclass(frozen=True, kw_only=True)
class ProfileGrid:
    """What `plot_grid` draws.

    Attributes:
        tables: One a panel; none with a factor told by panels.
        names: Their titles.
        same_ratio: Whether all panels span the same ratio, so that slopes compare: profiles of one
            unit on a log scale. Lines that stay below `NEGLIGIBLE` are then left out.
        zeros: For each panel the levels whose lines are left out so.
        same_limits: Whether all panels have one axis: one profile at several steps.
    """

    tables: Sequence[ProfileTable]
    names: Sequence[str]
    same_ratio: bool
    zeros: Sequence[Sequence[str]]
    same_limits: bool = False

    @property
    def one_unit(self) -> bool:
        """Whether all panels are of one unit, which is then told once."""
        return self.same_ratio or self.same_limits

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The ends of an axis that holds the values of all panels."""
        rows = pd.concat([table.rows for table in self.tables])
        low, high = float(rows["low"].min()), float(rows["high"].max())
        if self.tables[0].scale == "log":
            margin = max(high / low, _LEAST_RATIO) ** _MARGIN
            return low / margin, high * margin
        margin = _MARGIN * ((high - low) or abs(high) or 1.0)
        return low - margin, high + margin

    @cached_property
    def span(self) -> float:
        """The largest ratio between two values of one panel."""
        ratios = [
            float(table.rows["high"].max() / table.rows["low"].min())
            for table in self.tables
            if len(table.rows)
        ]
        return max([_LEAST_RATIO, *ratios])


def profile_grid(
    tables: Sequence[ProfileTable],
    names: Sequence[str],
    *,
    same_ratio: bool = False,
    same_limits: bool = False,
) -> ProfileGrid:
    """Put profiles side by side.

    Args:
        tables: `reports.plots.summary.profile_table` of each, all by the same one factor.
        names: Their titles.
        same_ratio: Whether to set all panels on log scales that span the same ratio.
        same_limits: Whether to give all panels one axis.
    """
    zeros: list[list[str]] = [[] for _ in tables]
    kept = list(tables)
    if same_ratio:
        largest: dict[str, float] = {}
        for table in tables:
            for hue, rows in table.rows.groupby("hue", sort=False):
                largest[str(hue)] = max(largest.get(str(hue), 0.0), float(rows["mean"].max()))
        for i, table in enumerate(tables):
            tops = table.rows.groupby("hue", sort=False)["mean"].max()
            zeros[i] = [str(h) for h, top in tops.items() if top < NEGLIGIBLE * largest[str(h)]]
            kept[i] = replace(table, rows=table.rows[~table.rows["hue"].isin(zeros[i])])
    return ProfileGrid(
        tables=kept, names=names, same_ratio=same_ratio, zeros=zeros, same_limits=same_limits
    )


def plot_grid(grid: ProfileGrid, frames: Frames, *, theme: Theme = LIGHT) -> Figure:
    """A panel a profile, a line a level."""
    n = len(grid.tables)
    n_columns = MAX_COLUMNS if grid.one_unit else 2 if n == 4 else 3
    n_columns = min(n, n_columns)
    measures = _NARROW if n_columns > 3 else _WIDE
    if grid.same_limits:
        measures = replace(measures, left=_NARROW.left)  # as their unit stands there
    legend_columns = n_columns if n_columns < 3 else _LEGEND_COLUMNS  # as there is room for names
    legend_rows = -(-max(table.rows["hue"].nunique() for table in grid.tables) // legend_columns)
    measures = replace(measures, top=measures.top + _LEGEND_ROW * legend_rows)
    figure, panels = measures.make(n, n_columns)
    styles = level_styles(frames)
    told = drawable_names((h for table in grid.tables for h in table.rows["hue"].unique()), 24)
    handles: dict[str, Line2D] = {}
    for i, (axes, table) in enumerate(zip(panels, grid.tables, strict=True)):
        for hue in table.rows["hue"].unique():
            rows = table.rows[table.rows["hue"] == hue]
            look = styles.get((table.hue, hue))
            handle = draw_line(axes, rows, look, told[hue], theme, table.axis)
            handles.setdefault(hue, handle)
        _finish(axes, grid, i)
        if i + n_columns >= n:
            axes.set_xlabel(X_LABEL[table.axis])
    if grid.one_unit:
        figure.supylabel(drawable(grid.tables[0].unit, 40), fontsize=9.5, x=0.01)
    if grid.tables[0].hue:
        figure.legend(
            handles=list(handles.values()),
            title=drawable(grid.tables[0].hue),
            loc="upper left",
            ncols=min(len(handles), legend_columns),
            alignment="left",
        )
    return figure


def _finish(axes: Axes, grid: ProfileGrid, i: int) -> None:
    """Scale, ticks and title of one panel."""
    table = grid.tables[i]
    about = f"n = {table.n_trials:,}"
    if not grid.one_unit:
        about = f"{drawable(table.unit, 22)}, {about}"
    # A place that is given is not searched for, which would measure every label around.
    axes.set_title(f"{drawable(grid.names[i], 24)}\n({about})", fontsize=9.5, y=1.0)
    sns.despine(ax=axes)
    axes.grid(axis="y")
    if table.rows.empty:
        axes.text(0.5, 0.5, "negligible", ha="center", va="center",
                  transform=axes.transAxes)  # fmt: skip
        axes.set_xticks([])
        axes.set_yticks([])
        return
    if table.scale == "log":
        axes.set_yscale("log")
    if grid.same_ratio:
        middle = math.sqrt(float(table.rows["high"].max()) * float(table.rows["low"].min()))
        half = math.sqrt(grid.span) * 1.05
        axes.set_ylim(middle / half, middle * half)
    if grid.same_limits:
        axes.set_ylim(*grid.limits)
    value_axis(axes, "y", table.scale, 4)
    axes.tick_params(axis="y", labelsize=8.5)
    if table.axis == "depth":
        axes.set_xticks(block_ticks(int(table.rows["x"].max()), 4))
    if table.axis == "context":
        context_axes(axes, table.rows["x"], table.unit, 4)


def describe_grid(grid: ProfileGrid, what: str) -> tuple[str, str]:
    """Text alternative and caption of `plot_grid`; ``what`` says what the profiles are of."""
    first = grid.tables[0]
    along = AXIS_LABEL[first.axis]
    by = f", by {short(first.hue)}" if first.hue else ""
    told = [_told(grid, i) for i in range(len(grid.tables))]
    alt = f"{counted(len(told), 'line chart')} of {what} by {along}{by}. {'; '.join(told)}."
    mean = "geometric mean" if first.scale == "log" else "mean"
    means = mean if grid.one_unit else "geometric means on log scales, else means"
    caption = (
        f"{what[:1].upper()}{what[1:]}{by}: {means} over all other factors and seeds; bands: 10th "
        "to 90th percentile of those cells and seeds; n: trials."
    )
    if grid.same_ratio:
        caption += f" All panels span the same ratio, so slopes compare.{_moves(grid)}"
    if grid.same_limits:
        caption += " All panels have the same axis, so values compare."
    small = [_small(grid, i) for i, levels in enumerate(grid.zeros) if levels]
    if small:
        caption += (
            f" Not drawn, as they stay below {number(NEGLIGIBLE)} of the largest profile: "
            f"{'; '.join(small)}."
        )
    absent = [(n, t) for n, t in zip(grid.names, grid.tables, strict=True) if t.n_absent]
    if absent:
        several = [f"{name} to {counted(t.n_absent, 'trial')}" for name, t in absent]
        caption += f" Not applicable: {listed(several)}."
    cancelled = max(table.n_cancelled for table in grid.tables)
    if cancelled:
        caption += f" Left out: {counted(cancelled, 'trial')} with a cancelled probe."
    lost = max(table.n_lost for table in grid.tables)
    if lost:
        caption += (
            f" Up to {counted(lost, 'trial')} a panel asked for but not drawn (lost, not run, or "
            "without a usable value); the means are of the rest alone."
        )
    return alt, caption + first.left_out


def _told(grid: ProfileGrid, i: int) -> str:
    """The first and the last value of each line of a panel."""
    rows = grid.tables[i].rows
    names = distinct([*rows["hue"].astype(str).unique()])
    lines = [
        f"{names[str(hue)] or 'all cells'} from {number(line['mean'].iloc[0])} "
        f"to {number(line['mean'].iloc[-1])}"
        for hue, line in rows.groupby("hue", sort=False)
    ]
    return f"{short(grid.names[i])}: {', '.join(lines) or 'negligible'}"


def _moves(grid: ProfileGrid) -> str:
    """Which line changes most along its axis, and which least."""
    found: list[tuple[float, str]] = []
    for name, table in zip(grid.names, grid.tables, strict=True):
        spread = table.rows.groupby("hue", sort=False)["mean"].agg(["min", "max"])
        names = distinct([*map(str, spread.index)])
        for row in records(spread):
            under = f" ({names[str(row.Index)]})" if row.Index else ""
            found.append((row.max / row.min, f"{short(name)}{under}"))
    if len(found) < 2:
        return ""
    (most, high), (least, low) = max(found), min(found)
    return (
        f" Along {AXIS_LABEL[grid.tables[0].axis]}s the mean changes most of {high}, "
        f"{number(most)} times from its smallest to its largest, and least of {low}, "
        f"{number(least)} times."
    )


def _small(grid: ProfileGrid, i: int) -> str:
    """A panel's name, with the levels under which its lines are left out unless it is all."""
    name, levels = grid.names[i], [*distinct(list(grid.zeros[i])).values()]
    everywhere = grid.tables[i].rows.empty or not any(levels)
    return name if everywhere else f"{name} under {listed(levels)}"
