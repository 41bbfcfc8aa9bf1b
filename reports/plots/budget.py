"""Where the parameters are: a metric's value in every cell, by the factors that move it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.pairs import baseline_level, ordered_levels
from reports.panel import panel
from reports.plots.axis import value_axis
from reports.plots.style import (
    LIGHT,
    MAX_LEVELS,
    WIDTH,
    Theme,
    drawable,
    drawable_names,
    level_styles,
)
from reports.ranking import size
from reports.records import records
from reports.wording import counted, listed, number, short

MAX_ROWS = 24
_NARROW = 0.02
"""Of the axis: a shorter range hides behind its dot."""


@dataclass(frozen=True, kw_only=True)
class BudgetTable:
    """What `plot_budget` draws.

    Attributes:
        rows: ``row`` (levels of ``row_factors``), ``hue`` (a level), ``low``, ``high``, ``mean``
            (over the other factors), ``n`` (cells), ``baseline`` (whether the baseline cell is
            among them).
        row_factors: The factors told by rows, the most influential first.
        hue: The factor told by colour, or ``""``.
        n_all: Rows there are; at most `MAX_ROWS` are drawn, the smallest and largest of them.
        n_lost: Cells without a value.
    """

    metric: str
    unit: str
    rows: pd.DataFrame
    row_factors: tuple[str, ...]
    hue: str
    n_all: int
    n_lost: int


def budget_table(frames: Frames, effects: pd.DataFrame, metric: str) -> BudgetTable | None:
    """A metric by the factors that change it most, or None where no cell has a value.

    Two factors make the rows and a third the colours; over the rest a row is a range.
    """
    data = panel(frames)
    index = list(data.info["metric"]).index(metric)
    usable = data.usable[index]
    count = usable.sum(axis=1)
    total = np.where(usable, data.values[index], 0.0).sum(axis=1)
    kept = count > 0
    if not kept.any():
        return None
    value = total[kept] / count[kept]
    value = np.exp(value) if data.info["scale"].iloc[index] == "log" else value
    rows = effects[effects["metric"] == metric]
    largest = pd.Series(size(rows), index=rows["factor"].to_numpy()).groupby(level=0).max()
    order = [str(f) for f in frames.factors["factor"].unique() if largest.get(f, 0.0) > 0]
    order.sort(key=lambda factor: -float(largest[factor]))
    row_factors = tuple(order[:2])
    hue = next((f for f in order[2:] if len(ordered_levels(frames, f)) <= MAX_LEVELS), "")
    cells = frames.cells[kept].reset_index(drop=True)
    base = np.ones(len(cells), dtype=bool)
    for factor in frames.factors["factor"].unique():
        base &= (cells[factor] == baseline_level(frames, factor)).to_numpy(dtype=bool)
    named = pd.DataFrame({"value": value, "baseline": base})
    named["row"] = cells[list(row_factors)].agg(" · ".join, axis=1) if row_factors else "all cells"
    named["hue"] = cells[hue] if hue else ""
    table = named.groupby(["row", "hue"], sort=False, as_index=False).agg(
        low=("value", "min"),
        high=("value", "max"),
        mean=("value", "mean"),
        n=("value", "size"),
        baseline=("baseline", "any"),
    )
    ranked = table.groupby("row", sort=False)["mean"].mean().sort_values(kind="stable").index
    n_all = len(ranked)
    if n_all > MAX_ROWS:
        ranked = ranked[: MAX_ROWS // 2].append(ranked[-MAX_ROWS // 2 :])
    place = {row: number for number, row in enumerate(ranked)}
    table = table[table["row"].isin(place)].assign(place=lambda t: t["row"].map(place))
    return BudgetTable(
        metric=metric,
        unit=str(data.info["unit"].iloc[index]),
        rows=table.sort_values(["place"], kind="stable", ignore_index=True),
        row_factors=row_factors,
        hue=hue,
        n_all=n_all,
        n_lost=int((~kept).sum()),
    )


def plot_budget(table: BudgetTable, frames: Frames, *, theme: Theme = LIGHT) -> Figure:
    """A dot and its range for each group of cells, the smallest at the top."""
    n_rows = int(table.rows["place"].max()) + 1
    figure = Figure(figsize=(WIDTH, 1.2 + 0.34 * n_rows), layout="constrained")
    axes = figure.subplots()
    styles = level_styles(frames)
    hues = ordered_levels(frames, table.hue) if table.hue else [""]
    hues = [hue for hue in hues if (table.rows["hue"] == hue).any()]
    spread = 0.32 / max(len(hues) - 1, 1)
    offsets = {hue: spread * (i - (len(hues) - 1) / 2) for i, hue in enumerate(hues)}
    told = drawable_names(hues, 30)
    handles: list[Line2D] = []
    for hue in hues:
        rows = table.rows[table.rows["hue"] == hue]
        look = styles.get((table.hue, hue))
        color, marker = theme.colors[look.color if look else 0], look.marker if look else "o"
        y = rows["place"] + offsets[hue]
        axes.hlines(y, rows["low"], rows["high"], color=color, linewidth=3, alpha=0.45)
        sns.scatterplot(
            x=rows["mean"], y=y, color=color, marker=marker, s=44, ax=axes, legend=False, zorder=3
        )
        handles.append(
            Line2D([], [], color=color, marker=marker, linestyle="none", label=told[hue])
        )
    base = table.rows[table.rows["baseline"]]
    for row in records(base):
        axes.plot(
            row.mean,
            row.place + offsets[row.hue],
            marker="o",
            markersize=13,
            markerfacecolor="none",
            markeredgecolor=theme.text,
            linestyle="none",
            zorder=4,
        )
        handles.append(
            Line2D(
                [],
                [],
                marker="o",
                markersize=11,
                markerfacecolor="none",
                markeredgecolor=theme.text,
                linestyle="none",
                label="holds the baseline cell",
            )
        )
    names = table.rows.drop_duplicates("place")["row"]
    written = drawable_names(names, 44)
    axes.set_yticks(range(n_rows), [written[name] for name in names])
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    sns.despine(ax=axes, left=True)
    value_axis(axes, "x", "linear")
    axes.set_xlabel(drawable(table.unit, 60))
    axes.set_ylabel("")
    if table.hue or len(base):
        kept = handles if table.hue else handles[1:]
        figure.legend(
            handles=kept,
            title=drawable(table.hue) if table.hue else None,
            loc="outside upper left",
            ncols=min(len(kept), 4),
            alignment="left",
        )
    return figure


def _drawn(table: BudgetTable) -> str:
    """What dots and bars are, of those that can be seen."""
    if not (table.rows["n"] > 1).any():
        return "Dots: cells"
    low, high = table.rows["low"], table.rows["high"]
    seen = (high - low) > _NARROW * (high.max() - low.min())
    return "Dots: means over the other factors" + ("; bars: their range" if seen.any() else "")


def describe_budget(table: BudgetTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_budget`."""
    smallest = next(records(table.rows.sort_values("low", kind="stable")))
    largest = next(records(table.rows.sort_values("high", ascending=False, kind="stable")))
    by = listed([short(factor) for factor in (*table.row_factors, table.hue) if factor])
    alt = (
        f"Dot chart of {table.metric} by {by or 'cell'}. "
        f"Smallest: {number(smallest.low)} ({short(smallest.row)}); "
        f"largest: {number(largest.high)} ({short(largest.row)})."
    )
    cells = int(table.rows["n"].sum())
    caption = (
        f"{table.metric} of {counted(cells, 'cell')}"
        + (f", by {by}" if by else "")
        + (f". {_drawn(table)}." if by else ".")
    )
    if table.n_all > MAX_ROWS:
        caption += (
            f" The smallest and the largest {MAX_ROWS // 2} of {table.n_all:,} groups are drawn."
        )
    if table.n_lost:
        caption += f" {counted(table.n_lost, 'cell')} without a value."
    return alt, caption
