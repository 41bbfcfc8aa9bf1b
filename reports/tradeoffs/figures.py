"""The trade-offs of a run: each outcome against each cost that was measured."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from reports.frames import Frames
from reports.pairs import factor_names
from reports.panel import Panel
from reports.placebo import PLACEBO
from reports.plots.data import figure_data
from reports.plots.style import Drawing, draw
from reports.plots.tradeoffs import describe_tradeoffs, plot_tradeoffs, shown_factor
from reports.ranking import BUDGET, rank_factors
from reports.sizes import scaling
from reports.tradeoffs.evenness import CAPTION, away_from_one, distances, is_even_at_one
from reports.tradeoffs.pareto import Tradeoff, pareto_table
from reports.training.names import FINAL_LOSS, LEARNING_RATE, MEASURE, at_best_rate

if TYPE_CHECKING:
    from reports.training.compared import Compared

COSTS = (BUDGET, "costs.forward_flops", "costs.cache_bytes")
"""Of each of these less is cheaper, whatever is better."""

HEALTH = "gradient_flow"
"""The measure that says how a gradient fares."""

COLUMNS = ("cell", "label", "baseline", "cost_metric", "cost", "metric", "mean", "status")


def tradeoffs(frames: Frames, compared: "Compared") -> list[list[Tradeoff]]:
    """Of each outcome its trade-offs: the loss that training ends at, and a gradient's health.

    The loss is that of each setting at its own best learning rate where the run varies it. Other
    options of measures, and a placebo, are held at their baseline. The health is the first primary
    metric of gradient flow that is told in no size of its own; a ratio by how far it is from 1.

    Args:
        frames: The run.
        compared: `reports.training.compared.compare` of it.
    """
    info = compared.data.info
    measures = set(info["measure"])
    held = [f for f in factor_names(frames) if f == PLACEBO or f.partition(".")[0] in measures]
    primary = info.loc[(info["measure"] == HEALTH) & info["primary"], "metric"]
    raw = scaling(frames)
    found: list[list[Tradeoff]] = []
    if compared.at_best is not None:
        best = compared.at_best
        held_there = [factor for factor in held if factor != LEARNING_RATE]
        costs = _of_cells(compared.data, frames, best.frames)
        found.append(_against(best.frames, costs, best.data, at_best_rate(FINAL_LOSS), held_there))
    else:
        found.append(_against(frames, compared.data, compared.data, FINAL_LOSS, held))
    for metric in [str(metric) for metric in primary if metric not in raw][:1]:
        data, outcome = compared.data, metric
        if is_even_at_one(data, metric):
            data, outcome = distances(data, metric), away_from_one(metric)
        found.append(_against(frames, compared.data, data, outcome, held))
    return [made for made in found if made]


def _against(
    frames: Frames, costs: Panel, data: Panel, outcome: str, held: Sequence[str]
) -> list[Tradeoff]:
    made = [
        pareto_table(frames, costs, data, cost=cost, outcome=outcome, held=held) for cost in COSTS
    ]
    return [one for one in made if one is not None]


def _of_cells(data: Panel, frames: Frames, settings: Frames) -> Panel:
    """A run's panel at the cell that each setting is named after: what it costs at any rate."""
    at = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(settings.cells["cell"]))
    return replace(
        data,
        values=data.values[:, at],
        reason=data.reason[:, at],
        diverged=data.diverged[:, at],
    )


def tradeoff_figures(
    frames: Frames, effects: pd.DataFrame, found: Sequence[Sequence[Tradeoff]]
) -> list[Drawing]:
    """A figure for each outcome.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it.
        found: `tradeoffs` of it.
    """
    drawings: list[Drawing] = []
    for of_outcome in found:
        measure = MEASURE if of_outcome[0].outcome.startswith(f"{MEASURE}.") else HEALTH
        hue = shown_factor(of_outcome, rank_factors(frames, effects, measure))
        alt, caption = describe_tradeoffs(of_outcome, hue)
        if of_outcome[0].outcome == at_best_rate(FINAL_LOSS):
            caption += " Each cell at its own best learning rate."
        if of_outcome[0].outcome.endswith(away_from_one("")):
            caption += CAPTION
        plot = partial(plot_tradeoffs, of_outcome, frames, hue)
        name = f"trade-offs of {of_outcome[0].outcome}"
        data = figure_data(name, "tables/tradeoffs.csv", tradeoff_rows([of_outcome]))
        drawings.append(draw(plot, alt=alt, caption=caption, data=data))
    return drawings


def tradeoff_rows(found: Sequence[Sequence[Tradeoff]]) -> pd.DataFrame:
    """Every trade-off as one table of `COLUMNS`, for tables/."""
    parts = [
        one.rows.assign(cost_metric=one.cost, metric=one.outcome)[list(COLUMNS)]
        for of_outcome in found
        for one in of_outcome
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS))
