"""Effects of all levels on one metric, with their intervals."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.plots.axis import difference_axis, ratio_axis
from reports.plots.style import LIGHT, WIDTH, Theme, drawable
from reports.ranking import depends_on_others, has_survivors_only, importance, size
from reports.records import records
from reports.wording import (
    MOST_TIMES,
    bounds,
    change,
    counted,
    counted_range,
    distinct,
    span,
)

MAX_ROWS = 30
DAGGER = " †"
STATES = ("shown", "exact", "inside noise", "unchanged", "no interval", "values lost")
"""What an effect's marker says."""

_MARKER = {
    "shown": "o",
    "exact": "D",
    "inside noise": "o",
    "unchanged": "D",
    "no interval": "s",
    "values lost": "X",
}
_NARROW = 0.03  # of the axis: a shorter range over pairs hides behind its marker
_BELOW = 0.27  # of a row: where the range over pairs is drawn, clear of the interval


def effects_table(
    effects: pd.DataFrame,
    metric: str,
    flags: Collection[tuple[str, str, str]] = (),
    limit: int = MAX_ROWS,
) -> pd.DataFrame:
    """The rows to draw for one metric, the largest first.

    Args:
        effects: `reports.effects.comparisons` of a run.
        metric: Which metric.
        flags: Factor, level and metric of what is no evidence, as in `reports.cautions.cautions`;
            its name gets a dagger.
        limit: How many rows at most; the smallest effects are left out.

    Returns:
        The rows that have an estimate, with ``name``, ``status`` (one of `STATES`), ``depends`` (on
        the other factors) and ``x``, ``x_low``, ``x_high``, ``x_pair_low``, ``x_pair_high``
        (natural logarithms on a log scale) beside their columns.
    """
    rows = effects[(effects["metric"] == metric) & effects["estimate"].notna()]
    rows = rows.assign(size=size(rows), weight=importance(rows), depends=depends_on_others(rows))
    rows = rows.sort_values(["weight", "size"], ascending=False, kind="stable")
    rows = rows.head(limit).reset_index(drop=True)
    names = [
        f"{f} = {lv}{DAGGER if (f, lv, metric) in flags else ''}"
        for f, lv in zip(rows["factor"], rows["level"], strict=True)
    ]
    return placed(rows.assign(name=pd.Series(names, dtype=object)))


def placed(rows: pd.DataFrame) -> pd.DataFrame:
    """Effects or interactions with ``status`` and the places ``x…`` of `effects_table`."""
    noise = rows["within_noise"].fillna(False).astype(bool)
    status = np.select(
        [
            has_survivors_only(rows),
            rows["within_noise"].isna(),
            rows["unchanged"],
            rows["exact"],
            noise,
        ],
        ["values lost", "no interval", "unchanged", "exact", "inside noise"],
        default="shown",
    )
    log = (rows["scale"] == "log").to_numpy(dtype=bool)
    with np.errstate(divide="ignore"):
        position = {
            x: np.where(log, np.log(rows[column].where(log, 1.0)), rows[column])
            for x, column in (
                ("x", "estimate"),
                ("x_low", "low"),
                ("x_high", "high"),
                ("x_pair_low", "pair_low"),
                ("x_pair_high", "pair_high"),
            )
        }
    return rows.assign(status=status, **position)


def plot_effects(table: pd.DataFrame, *, unit: str, theme: Theme = LIGHT) -> Figure:
    """A dot and an interval for each row of `effects_table`, with its figures at the right.

    Dots are filled where an effect is shown and hollow where not; diamonds are exact. Where an
    effect depends on the other factors a thin line below it spans the means of its pairs, unless
    they lie too close together to be seen.
    """
    figure = Figure(figsize=(WIDTH, 1.15 + 0.3 * len(table)), layout="constrained")
    handles = draw_effects(figure.subplots(), table, unit=unit, theme=theme)
    columns = min(len(handles), 4)
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, handletextpad=0.3)
    return figure


def draw_effects(axes: Axes, table: pd.DataFrame, *, unit: str, theme: Theme) -> list[Line2D]:
    """Draw `plot_effects` on one axes; returns what its legend has."""
    log = bool((table["scale"] == "log").all())
    left, right = _span_of(table)
    axes.set_xlim(left, right)
    axes.axvline(0, color=theme.muted, linewidth=1, zorder=1)
    ranged = _ranged(table)
    for row in records(table.assign(ranged=ranged)):
        _draw_row(axes, row, theme, left, right)
    names = [drawable(name, 38) for name in _row_names(table)]
    axes.set_yticks(range(len(table)), names)
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, pad=8)  # clear of the arrows
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    sns.despine(ax=axes, left=True)
    if log:
        ratio_axis(axes)
        axes.set_xlabel("ratio to the baseline level")
    else:
        difference_axis(axes)
        axes.set_xlabel(drawable(f"difference to the baseline level ({unit})", 80))
    present = [status for status in STATES if (table["status"] == status).any()]
    handles = [_handle(status, theme) for status in present]
    if ranged.any():
        handles.append(Line2D([], [], label="range over pairs", **_whisker(theme)))
    return handles


def _row_names(table: pd.DataFrame) -> list[str]:
    """What rows are called: none like another, and a dagger stays with a name that is shortened."""
    names = [str(name).removesuffix(DAGGER) for name in table["name"]]
    told = distinct(names, 38 - len(DAGGER))
    return [
        told[name] + (DAGGER if str(whole).endswith(DAGGER) else "")
        for name, whole in zip(names, table["name"], strict=True)
    ]


def _draw_row(axes: Any, row: Any, theme: Theme, left: float, right: float) -> None:
    color = theme.accent if row.status in ("shown", "exact") else theme.muted
    if math.isfinite(row.x_low + row.x_high) or math.isinf(row.x_low) or math.isinf(row.x_high):
        low, high = max(row.x_low, left), min(row.x_high, right)
        axes.hlines(row.Index, low, high, color=color, linewidth=2, zorder=2)
        if row.x_low < left:
            axes.plot(left, row.Index, marker="<", color=color, clip_on=False)
        if row.x_high > right:
            axes.plot(right, row.Index, marker=">", color=color, clip_on=False)
    axes.plot(row.x, row.Index, **_look(row.status, theme), zorder=3)
    if row.ranged:
        ends = np.clip([row.x_pair_low, row.x_pair_high], left, right)
        axes.plot(ends, [row.Index + _BELOW] * 2, **_whisker(theme), zorder=2)
    said = _figures(row, "  ")
    axes.annotate(
        said,
        xy=(1.035, row.Index),
        xycoords=("axes fraction", "data"),
        va="center",
        color=theme.text if row.status in ("shown", "exact") else theme.muted,
        fontsize=9,
    )


def _look(status: str, theme: Theme) -> dict[str, Any]:
    color = theme.accent if status in ("shown", "exact") else theme.muted
    hollow = status in ("inside noise", "unchanged", "no interval")
    return {
        "marker": _MARKER[status],
        "markersize": 7,
        "markeredgecolor": color,
        "markeredgewidth": 1.6,
        "markerfacecolor": theme.back if hollow else color,
        "linestyle": "none",
    }


def _whisker(theme: Theme) -> dict[str, Any]:
    return {"marker": "|", "markersize": 5, "linewidth": 1, "color": theme.text}


def _figures(row: Any, space: str = " ") -> str:
    """An effect with its interval, or that there is none."""
    if row.status == "unchanged":
        return "none"
    text = change(row.estimate, row.scale, row.low, row.high)
    if not row.exact and not math.isnan(row.low):
        text += f"{space}({bounds(row.low, row.high, row.scale, row.estimate)})"
    return text


def _handle(status: str, theme: Theme) -> Line2D:
    words = {
        "shown": "beyond noise",
        "exact": "exact",
        "inside noise": "inside seed noise",
        "no interval": "no interval can be given",
        "unchanged": "unchanged",
        "values lost": "values lost, no conclusion",
    }
    return Line2D([], [], label=words[status], **_look(status, theme))


def _span_of(table: pd.DataFrame) -> tuple[float, float]:
    """The ends of the axis: zero, estimates, ranges, and intervals up to three times as far, ratios
    no further than a thousandfold."""
    pairs = table.loc[table["depends"], ["x_pair_low", "x_pair_high"]].to_numpy(dtype=np.float64)
    sure = np.append(table["x"].to_numpy(dtype=np.float64), pairs)
    sure = sure[np.isfinite(sure)]
    furthest = float(np.abs(sure).max(initial=0.0))
    cut = 3 * furthest
    if (table["scale"] == "log").all():
        most = max(math.log(MOST_TIMES), furthest)
        cut = min(cut, most) if cut > 0 else most
    ends = np.append(table[["x_low", "x_high"]].to_numpy(dtype=np.float64), sure)
    if cut > 0:
        ends = np.clip(ends, -cut, cut)
    ends = ends[np.isfinite(ends)]
    low, high = min(0.0, ends.min(initial=0.0)), max(0.0, ends.max(initial=0.0))
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def _ranged(table: pd.DataFrame) -> "pd.Series[bool]":
    """Of which effects the range over pairs is drawn: those where it is wide enough to be seen."""
    left, right = _span_of(table)
    width = table["x_pair_high"] - table["x_pair_low"]
    return table["depends"] & (width > _NARROW * (right - left))


def describe_effects(table: pd.DataFrame, metric: str, n_all: int) -> tuple[str, str]:
    """Text alternative and caption of `plot_effects`."""
    told = [
        _told(row, name)
        for row, name in zip(records(table.head(8)), _row_names(table), strict=False)
    ]
    alt = f"Dot chart of {counted(len(table), 'effect')} on {metric}. {'; '.join(told)}."
    if len(table) > len(told):
        alt += f" {len(table) - len(told)} smaller ones follow."
    pairs = counted_range(table["n_pairs"], "pair")
    seeds = counted_range(table["n_seeds"], "seed")
    caption = (
        f"Effects on {metric}, each level against its factor's baseline, all else equal; "
        f"n = {pairs}, {seeds} a row."
    )
    if (table["low"].notna() & ~table["status"].isin(["exact", "unchanged"])).any():
        caption += " Lines: adjusted 95 % intervals, also in brackets."
    if _ranged(table).any():
        caption += (
            " Thin lines below, where wide enough to be seen: the range over pairs of effects that "
            "depend on the other factors."
        )
    if n_all > len(table):
        caption += f" The {len(table)} largest of {n_all:,}; the others are in tables/effects.csv."
    if table["name"].str.endswith(DAGGER).any():
        caption += f"{DAGGER} no evidence, or less than it looks: the table says why."
    dropped = int(table["n_dropped"].sum())
    if dropped:
        caption += f" {counted(dropped, 'paired observation')} not used (see the table of effects)."
    return alt, caption


def _told(row: Any, name: str) -> str:
    text = f"{name}: {_figures(row)}, {row.status}"
    if row.depends:
        reached = span(row.pair_low, row.pair_high, row.scale)
        text += f", depends on the other factors, range over pairs {reached}"
    return text
