"""The figures of a page: which there are, and in which order."""

from functools import partial

import pandas as pd

from reports.frames import Frames
from reports.plots.budget import budget_table, describe_budget, plot_budget
from reports.plots.effects import describe_effects, effects_table, plot_effects
from reports.plots.profiles import describe_profile, plot_profile, profile_table
from reports.plots.style import Drawing, draw
from reports.ranking import BUDGET, importance, rank_factors
from reports.records import records

MAX_METRICS = 12
MAX_PROFILES = 16


def effect_figures(frames: Frames, effects: pd.DataFrame) -> list[Drawing]:
    """A chart of effects for the primary metrics that have any, the largest first."""
    info = frames.metric_info
    primary = info[(info["form"] == "metric") & info["primary"]]
    weight = pd.Series(importance(effects), index=effects["metric"].to_numpy())
    largest = weight.groupby(level=0).max()
    primary = primary.assign(largest=primary["metric"].map(largest).fillna(0.0))
    primary = primary.sort_values("largest", ascending=False, kind="stable")
    drawings: list[Drawing] = []
    for row in records(primary):
        table = effects_table(effects, row.metric)
        if len(table) and len(drawings) < MAX_METRICS:
            estimated = (effects["metric"] == row.metric) & effects["estimate"].notna()
            alt, caption = describe_effects(table, row.metric, int(estimated.sum()))
            plot = partial(plot_effects, table, unit=row.unit)
            drawings.append(draw(plot, alt=alt, caption=caption))
    return drawings


def profile_figures(frames: Frames, effects: pd.DataFrame) -> list[Drawing]:
    """Small multiples of each profile with a usable value, primary ones first."""
    info = frames.metric_info[frames.metric_info["form"] == "profile"]
    info = info.sort_values("primary", ascending=False, kind="stable")
    drawings: list[Drawing] = []
    for row in records(info):
        ranking = rank_factors(frames, effects, row.measure)
        table = profile_table(frames, row.metric, ranking)
        if table is not None and len(drawings) < MAX_PROFILES:
            alt, caption = describe_profile(table)
            drawings.append(draw(partial(plot_profile, table, frames), alt=alt, caption=caption))
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
    return draw(partial(plot_budget, table, frames), alt=alt, caption=caption)
