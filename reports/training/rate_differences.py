"""Whether an effect at the best learning rates is another than at one rate that both of a pair
have.

Shapes: M metrics, C cells, G settings, R learning rates, S seeds.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.adjustment import with_intervals
from reports.conditional import NAMES
from reports.estimates import estimates
from reports.intervals import false_coverage_levels
from reports.pairs import Contrast, pairs
from reports.panel import REASONS, Panel
from reports.training.at_best_rate import TAKEN
from reports.training.names import LEARNING_RATE, at_best_rate

if TYPE_CHECKING:
    from reports.training.compared import AtBestRate

ALL_RATES = ""
"""Stands for the mean over all rates, among the rates."""


def rate_differences(data: Panel, at_best: "AtBestRate") -> pd.DataFrame:
    """What each level changes with each setting at its own best rate, less what it does at one.

    A row for each level, metric of `TAKEN` and rate, with the rate, or `ALL_RATES`, as
    ``level_2``; columns are those of `reports.estimates.estimates` with intervals. The difference
    is taken within settings and seeds, over those that have both, so that what a seed does to both
    alike is no noise in it. It scatters as far as what is chosen by other seeds is known to, and is
    adjusted by Benjamini–Hochberg over all rows.

    Args:
        data: `reports.panel.panel` of the run.
        at_best: The run at the best rates.
    """
    both = _side_by_side(data, at_best)
    n = len(at_best.rates.settings)
    contrasts = [
        Contrast(
            names={**one.names, "factor_2": LEARNING_RATE, "level_2": rate},
            cells=np.concatenate([one.cells, one.cells + n * place]),
        )
        for one in pairs(at_best.frames)
        for place, rate in enumerate((*at_best.rates.rates, ALL_RATES), start=1)
    ]
    table = estimates(both, contrasts, NAMES)
    return with_intervals(table, [(np.ones(len(table), dtype=bool), false_coverage_levels)])


def _side_by_side(data: Panel, at_best: "AtBestRate") -> Panel:
    """A panel of every setting (2 + R)·G: at its best rate, at each of the rates, over all."""
    rates, own = at_best.rates, at_best.data
    names, own_names = data.info["metric"].to_list(), own.info["metric"].to_list()
    taken = [m for m in TAKEN if m in names and at_best_rate(m) in own_names]
    there = [names.index(metric) for metric in taken]
    best = [own_names.index(at_best_rate(metric)) for metric in taken]
    absent = rates.cells.T[..., None] < 0  # (R, G, 1)
    value = np.where(absent, np.nan, data.values[there][:, rates.cells.T])  # (M, R, G, S)
    skipped = np.int8(REASONS.index("skipped"))
    reason = np.where(absent, skipped, data.reason[there][:, rates.cells.T])
    diverged = ~absent & data.diverged[there][:, rates.cells.T]
    n_rest = (len(rates.rates) + 1) * len(rates.settings)

    def stacked(first: NDArray[Any], each: NDArray[Any], over: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([first[:, None], each, over[:, None]], axis=1).reshape(
            len(taken), -1, len(data.seeds)
        )

    spread = None
    if own.spread is not None:
        spread = np.concatenate([own.spread[best], np.ones((len(taken), n_rest))], axis=1)
    return Panel(
        info=data.info.iloc[there].reset_index(drop=True),
        seeds=data.seeds,
        values=stacked(own.values[best], value, value.mean(axis=1)),
        reason=stacked(own.reason[best], reason, reason.max(axis=1)),
        exact=np.zeros(len(taken), dtype=bool),
        diverged=stacked(own.diverged[best], diverged, np.asarray(diverged.any(axis=1))),
        spread=spread,
    )
