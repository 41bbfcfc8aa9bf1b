"""The figures of a page beside its profiles: which there are, and in which order."""

from functools import partial

import pandas as pd

from reports.cautions import Cautions, cautions
from reports.effects import EFFECT_COLUMNS
from reports.frames import Frames
from reports.maps import MapFigure, attention_maps
from reports.pairs import told_levels
from reports.plots.attention import describe_maps, plot_maps, unmasked
from reports.plots.budget import budget_table, describe_budget, plot_budget
from reports.plots.data import figure_data
from reports.plots.effects import describe_effects, effects_table, plot_effects
from reports.plots.style import Drawing, draw
from reports.ranking import BUDGET, importance, rank_factors
from reports.records import records
from reports.sizes import raw_note, raw_warning, scaling, size_flags

MAX_METRICS = 12


def effect_figures(
    frames: Frames, effects: pd.DataFrame, beside: Cautions | None = None
) -> list[Drawing]:
    """A chart of effects for the primary metrics that have any, the largest first.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it.
        beside: `reports.cautions.cautions` of it, if already computed.
    """
    info = frames.metric_info
    primary = info[(info["form"] == "metric") & info["primary"]]
    weight = pd.Series(importance(effects), index=effects["metric"].to_numpy())
    largest = weight.groupby(level=0).max()
    primary = primary.assign(largest=primary["metric"].map(largest).fillna(0.0))
    primary = primary.sort_values("largest", ascending=False, kind="stable")
    raw, flags, names = scaling(frames), size_flags(frames, effects), told_levels(frames)
    beside = cautions(frames, effects) if beside is None else beside
    drawings: list[Drawing] = []
    for row in records(primary):
        table = effects_table(effects, row.metric, beside)
        if len(table) and len(drawings) < MAX_METRICS:
            estimated = (effects["metric"] == row.metric) & effects["estimate"].notna()
            alt, caption = describe_effects(table, row.metric, int(estimated.sum()))
            plot = partial(plot_effects, table, unit=row.unit)
            caption += raw_note(row.metric, raw)
            warning = raw_warning(row.metric, flags, names)
            told = table[list(EFFECT_COLUMNS)]
            data = figure_data(f"effects on {row.metric}", "tables/effects.csv", told)
            drawings.append(draw(plot, alt=alt, caption=caption, data=data, warning=warning))
    return drawings


def budget_figure(frames: Frames, effects: pd.DataFrame) -> Drawing | None:
    """Where the parameters are, or None if they were not counted."""
    info = frames.metric_info
    if not ((info["form"] == "metric") & (info["metric"] == BUDGET)).any():
        return None
    table = budget_table(frames, effects, BUDGET)
    if table is None:
        return None
    alt, caption = describe_budget(table)
    data = figure_data(table.metric, "tables/metrics.csv", table.rows)
    return draw(partial(plot_budget, table, frames), alt=alt, caption=caption, data=data)


def attention_figures(frames: Frames, effects: pd.DataFrame) -> list[Drawing]:
    """Attention maps of the baseline and of the cells one factor away from it, if there are any."""
    ranking = rank_factors(frames, effects, "attention_map")
    return [_attention(maps) for maps in attention_maps(frames, ranking)]


def _attention(maps: MapFigure) -> Drawing:
    alt, caption = describe_maps(maps)
    first = maps.maps[0]
    name = f"attention layer {first.layer} head {first.head}"
    data = figure_data(name, "the arrays in the run's results.sqlite")
    warning = unmasked(maps)
    return draw(partial(plot_maps, maps), alt=alt, caption=caption, data=data, warning=warning)
