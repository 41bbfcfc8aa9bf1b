"""Everything that is compared of a run: as it was run, and with each setting at its own best rate.

What is looked at together is adjusted together: where a run varies the learning rate, effects at
the best rate and the others are one family, and so are interactions.
"""

from dataclasses import dataclass

import pandas as pd

from reports import effects, interactions
from reports.frames import Frames
from reports.panel import Panel, panel
from reports.training.at_best_rate import frames_at_best_rate, panel_at_best_rate
from reports.training.best_rates import BestRates, best_rates


@dataclass(frozen=True, kw_only=True)
class AtBestRate:
    """The run with each setting at its own best learning rate.

    Attributes:
        rates: How those were chosen.
        frames: `reports.training.at_best_rate.frames_at_best_rate`.
        data: `reports.training.at_best_rate.panel_at_best_rate` of them.
        effects: `reports.effects.comparisons` of them, adjusted with those of the whole run.
        interactions: `reports.interactions.interaction_comparisons` of them, likewise.
    """

    rates: BestRates
    frames: Frames
    data: Panel
    effects: pd.DataFrame
    interactions: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What a report says of a run rests on this.

    Attributes:
        data: `reports.panel.panel` of the run.
        effects: `reports.effects.comparisons` of it.
        interactions: `reports.interactions.interaction_comparisons` of it.
        at_best: The run at the best learning rates, or None where it does not vary them.
    """

    data: Panel
    effects: pd.DataFrame
    interactions: pd.DataFrame
    at_best: AtBestRate | None


def compare(frames: Frames) -> Compared:
    """Compare the levels of a run, and those of its settings at their best learning rates.

    A run that does not vary the learning rate of a training is compared as
    `reports.effects.comparisons` and `reports.interactions.interaction_comparisons` do.
    """
    data = panel(frames)
    rates = best_rates(frames, data)
    of_run = effects.pair_estimates(frames, data), interactions.quadruple_estimates(frames, data)
    if rates is None:
        return Compared(
            data=data,
            effects=effects.adjusted(of_run[0]),
            interactions=interactions.adjusted(of_run[1]),
            at_best=None,
        )
    best = frames_at_best_rate(frames, data, rates)
    best_data = panel_at_best_rate(best, rates)
    of_best = (
        effects.pair_estimates(best, best_data),
        interactions.quadruple_estimates(best, best_data),
    )
    pairs, pairs_at_best = _apart(effects.adjusted(_joined(of_run[0], of_best[0])), len(of_run[0]))
    fours, fours_at_best = _apart(
        interactions.adjusted(_joined(of_run[1], of_best[1])), len(of_run[1])
    )
    return Compared(
        data=data,
        effects=pairs,
        interactions=fours,
        at_best=AtBestRate(
            rates=rates,
            frames=best,
            data=best_data,
            effects=pairs_at_best,
            interactions=fours_at_best,
        ),
    )


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return first if second.empty else pd.concat([first, second], ignore_index=True)


def _apart(table: pd.DataFrame, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first rows of a table, and the others."""
    return table.iloc[:n], table.iloc[n:].reset_index(drop=True)
