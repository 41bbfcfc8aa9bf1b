"""A profile along depth, steps or context: small multiples by the two factors that matter most."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.frames import Frames
from reports.pairs import baseline_level, ordered_levels
from reports.plots.axis import value_axis
from reports.plots.style import (
    LIGHT,
    MAX_LEVELS,
    WIDTH,
    LevelStyle,
    Theme,
    drawable,
    level_styles,
)
from reports.wording import counted, listed, number, short

MAX_COLUMNS = 4
_AXIS_LABEL = {"depth": "block", "step": "step", "context": "position in the context"}


@dataclass(frozen=True, kw_only=True)
class ProfileTable:
    """What `plot_profile` draws.

    Attributes:
        rows: ``hue`` and ``column`` (levels), ``x``, ``mean``, ``low``, ``high`` (10th and 90th
            percentile over cells and seeds), ``n`` (values).
        hue: The factor told by colour, or ``""``.
        column: The factor told by panels, or ``""``.
        n_trials: Trials drawn.
        n_lost: Trials that were asked for and are not drawn, by state or because of their values.
        left_out: Sentences on levels that are not drawn.
    """

    profile: str
    unit: str
    scale: str
    axis: str
    rows: pd.DataFrame
    hue: str
    column: str
    n_trials: int
    n_lost: int
    left_out: str


def profile_table(frames: Frames, profile: str, ranking: list[str]) -> ProfileTable | None:
    """Means and spreads of one profile, or None where there is no usable value.

    Args:
        frames: The run.
        profile: Its name.
        ranking: Factors, the most influential first; the first is told by colour, the second by
            panels.
    """
    info = frames.metric_info
    about = info[(info["form"] == "profile") & (info["metric"] == profile)].iloc[0]
    trials = frames.trials[frames.trials["measure"] == about["measure"]]
    done = trials.loc[trials["state"] == "done", ["cell", "seed"]]
    data = frames.profiles[frames.profiles["profile"] == profile].merge(done, on=["cell", "seed"])
    usable = np.isfinite(data["value"]) & ((about["scale"] != "log") | (data["value"] > 0))
    trial = data.groupby(["cell", "seed"], sort=False).ngroup()
    data = data[~trial.isin(trial[~usable])]  # a trial is drawn whole or not at all
    if data.empty:
        return None
    hue, column = (*ranking, "", "")[:2]
    level = frames.cells.set_index("cell")
    data = data.assign(
        hue=data["cell"].map(level[hue]) if hue else "",
        column=data["cell"].map(level[column]) if column else "",
        x=data["step"] if data["axis"].iloc[0] == "step" else data["position"],
    )
    kept_hues, kept_columns = _kept(frames, hue, MAX_LEVELS), _kept(frames, column, MAX_COLUMNS)
    left_out = ""
    for factor, kept in ((hue, kept_hues), (column, kept_columns)):
        if factor and len(ordered_levels(frames, factor)) > len(kept):
            left_out += (
                f" Of {short(factor)} only {listed([short(level) for level in kept], 9)} are drawn."
            )
    n_whole = len(data[["cell", "seed"]].drop_duplicates())
    data = data[data["hue"].isin(kept_hues) & data["column"].isin(kept_columns)]
    if data.empty:
        return None
    return ProfileTable(
        profile=profile,
        unit=about["unit"],
        scale=about["scale"],
        axis=data["axis"].iloc[0],
        rows=_summary(data, about["scale"] == "log", kept_hues, kept_columns),
        hue=hue,
        column=column,
        n_trials=len(data[["cell", "seed"]].drop_duplicates()),
        n_lost=len(trials) - n_whole,
        left_out=left_out,
    )


def _kept(frames: Frames, factor: str, limit: int) -> list[str]:
    """The levels to draw: the baseline and the first others, in the grid's order."""
    if not factor:
        return [""]
    levels = ordered_levels(frames, factor)
    baseline = baseline_level(frames, factor)
    chosen = {baseline, *[level for level in levels if level != baseline][: limit - 1]}
    return [level for level in levels if level in chosen]


def _summary(data: pd.DataFrame, log: bool, hues: list[str], columns: list[str]) -> pd.DataFrame:
    value = np.log(data["value"]) if log else data["value"]
    groups = data.assign(value=value).groupby(["column", "hue", "x"], observed=True)["value"]
    table = pd.DataFrame(
        {
            "mean": groups.mean(),
            "low": groups.quantile(0.1),
            "high": groups.quantile(0.9),
            "n": groups.size(),
        }
    ).reset_index()
    if log:
        table[["mean", "low", "high"]] = np.exp(table[["mean", "low", "high"]])
    order = {level: place for place, level in enumerate([*columns, *hues])}
    return table.sort_values(
        ["column", "hue", "x"],
        key=lambda keys: keys if keys.name == "x" else keys.map(order),
        ignore_index=True,
    )


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
    handles: dict[str, Line2D] = {}
    for axes, column in zip(panels, columns, strict=True):
        for hue in hues:
            rows = table.rows[(table.rows["column"] == column) & (table.rows["hue"] == hue)]
            if rows.empty:
                continue
            handle = _draw_line(axes, rows, styles.get((table.hue, hue)), hue, theme)
            handles.setdefault(hue, handle)
        n = table.rows.loc[table.rows["column"] == column].groupby("hue")["n"].max().sum()
        name = drawable(column, _TITLE_WIDTH // len(columns))
        axes.set_title(f"{name}\n(n = {n:,} trials)" if column else f"n = {n:,} trials")
        axes.set_xlabel(_AXIS_LABEL[table.axis])
        axes.grid(axis="y")
        sns.despine(ax=axes)
    if table.scale == "log":
        panels[0].set_yscale("log")
    value_axis(panels[0], "y", table.scale)
    panels[0].set_ylabel(drawable(table.unit, 40))
    if table.axis == "depth":
        last = int(table.rows["x"].max())
        step = max(1, -(-(last + 1) // 6))
        panels[0].set_xticks(range(0, last + 1, step))
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


def _draw_line(
    axes: Axes, rows: pd.DataFrame, look: LevelStyle | None, name: str, theme: Theme
) -> Line2D:
    """A mean with its band; the line that stands for it in the legend."""
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
    sns.lineplot(data=rows, x="x", y="mean", ax=axes, errorbar=None, legend=False, **style)
    axes.set_ylabel("")
    return Line2D([], [], label=drawable(name, 24), **style)


def describe_profile(table: ProfileTable) -> tuple[str, str]:
    """Text alternative and caption of `plot_profile`."""
    along = _AXIS_LABEL[table.axis]
    by = " and ".join(f for f in (short(table.hue), short(table.column)) if f)
    told: list[str] = []
    for (column, hue), rows in table.rows.groupby(["column", "hue"], sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        name = ", ".join(short(level) for level in (str(hue), str(column)) if level) or "all cells"
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
    if table.n_lost:
        caption += (
            f" {counted(table.n_lost, 'trial')} asked for but not drawn (lost, not run, or without "
            "a usable value); the means are of the rest alone."
        )
    return alt, caption + table.left_out
