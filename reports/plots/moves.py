"""Effects of two runs on one metric, one above the other."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.plots.axis import difference_axis, ratio_axis
from reports.plots.style import LIGHT, WIDTH, Theme, drawable, drawable_names
from reports.records import records
from reports.wording import bounds, change, counted, short

MAX_ROWS = 30
_APART = 0.17  # of a row
_CUT = 3  # times the farthest effect: no interval is drawn beyond


def moves_table(moved: pd.DataFrame, metric: str, limit: int = MAX_ROWS) -> pd.DataFrame:
    """The rows to draw for one metric, those that moved first.

    Args:
        moved: `reports.comparison.moved.moved_effects`.
        metric: Which metric.
        limit: How many rows at most.

    Returns:
        Rows that both runs have an estimate of, with ``name``, ``moved`` and, of each run, ``x_1``,
        ``x_low_1``, ``x_high_1``, ``x_2`` … (natural logarithms on a log scale).
    """
    rows = moved[
        (moved["metric"] == metric) & moved["estimate_1"].notna() & moved["estimate_2"].notna()
    ]
    shown = rows["within_noise"].eq(False).fillna(False).astype(bool) & ~rows["lost"]
    rows = rows.assign(moved=shown).sort_values("moved", ascending=False, kind="stable")
    rows = rows.head(limit).reset_index(drop=True)
    log = (rows["scale"] == "log").to_numpy(dtype=bool)
    with np.errstate(divide="ignore"):
        places = {
            f"x{end}_{which}": np.where(log, np.log(column.where(log, 1.0)), column)
            for which in (1, 2)
            for end, name in (("", "estimate"), ("_low", "low"), ("_high", "high"))
            for column in (rows[f"{name}_{which}"],)
        }
    names = [f"{f} = {level}" for f, level in zip(rows["factor"], rows["level"], strict=True)]
    return rows.assign(name=pd.Series(names, dtype=object), **places)


def plot_moves(table: pd.DataFrame, *, unit: str, theme: Theme = LIGHT) -> Figure:
    """Two dots with intervals a row: the first run above, hollow; the second below, filled."""
    figure = Figure(figsize=(WIDTH, 1.15 + 0.42 * len(table)), layout="constrained")
    axes = figure.subplots()
    sure = table[["x_1", "x_2"]].to_numpy(dtype=np.float64)
    cut = _CUT * float(np.abs(sure[np.isfinite(sure)]).max(initial=0.0)) or 0.1
    ends = np.clip(table[["x_low_1", "x_high_1", "x_low_2", "x_high_2"]].to_numpy(), -cut, cut)
    ends = np.append(ends[np.isfinite(ends)], [0.0, *sure[np.isfinite(sure)]])
    margin = 0.06 * float(np.ptp(ends)) or 0.1
    axes.set_xlim(float(ends.min()) - margin, float(ends.max()) + margin)
    axes.axvline(0, color=theme.muted, linewidth=1, zorder=1)
    for row in records(table):
        for which, place in ((1, -_APART), (2, _APART)):
            x, low, high = (getattr(row, f"x{end}_{which}") for end in ("", "_low", "_high"))
            y = row.Index + place
            look = _look(which, row.moved, theme)
            low, high = np.clip([low, high], *axes.get_xlim())
            axes.hlines(y, low, high, color=look["markeredgecolor"], linewidth=1.6, zorder=2)
            axes.plot(x, y, **look, zorder=3)
    names = drawable_names(table["name"], 38)
    axes.set_yticks(range(len(table)), [names[name] for name in table["name"]])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    sns.despine(ax=axes, left=True)
    if (table["scale"] == "log").all():
        ratio_axis(axes)
        axes.set_xlabel("ratio to the baseline level")
    else:
        difference_axis(axes)
        axes.set_xlabel(drawable(f"difference to the baseline level ({unit})", 80))
    handles = [
        Line2D([], [], label=label, **_look(which, moved, theme))
        for label, which, moved in (
            ("first run", 1, False),
            ("second run", 2, False),
            ("second run, moved", 2, True),
        )
        if which == 1 or (table["moved"] == moved).any()
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, handletextpad=0.3)
    return figure


def _look(which: int, moved: bool, theme: Theme) -> dict[str, Any]:
    color = theme.accent if moved else theme.muted
    return {
        "marker": "o" if which == 1 else "D" if moved else "s",
        "markersize": 6,
        "markeredgecolor": color,
        "markeredgewidth": 1.5,
        "markerfacecolor": theme.back if which == 1 else color,
        "linestyle": "none",
    }


def describe_moves(table: pd.DataFrame, metric: str, n_all: int) -> tuple[str, str]:
    """Text alternative and caption of `plot_moves`."""
    told = [
        f"{short(row.name)}: {_figure(row, 1)} in the first run, {_figure(row, 2)} in the second"
        f"{', moved' if row.moved else ''}"
        for row in records(table.head(8))
    ]
    alt = f"Dot chart of {counted(len(table), 'effect')} on {metric} in two runs. "
    alt += f"{'; '.join(told)}."
    if len(table) > len(told):
        alt += f" {len(table) - len(told)} more follow."
    caption = (
        f"Effects on {metric} in the first run (above, hollow) and in the second (below, filled), "
        "each with the adjusted 95 % interval of its own report. Whether an effect moved is not "
        "read from these intervals, but from that of the difference, in the table."
    )
    if n_all > len(table):
        caption += f" {len(table)} of {n_all:,} rows."
    return alt, caption


def _figure(row: Any, which: int) -> str:
    estimate, low, high = (getattr(row, f"{n}_{which}") for n in ("estimate", "low", "high"))
    text = change(estimate, row.scale, low, high)
    if pd.isna(low) or low == high:
        return text
    return f"{text} ({bounds(low, high, row.scale, estimate)})"
