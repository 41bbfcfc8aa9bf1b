"""Everything that is made of a run: as it was run, and with each setting at its own best rate.

What is looked at together is adjusted together: where a run varies the learning rate, effects at
the best rate and the others are one family, and so are interactions.
"""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from reports import effects, interactions
from reports.cautions import Cautions, JointCautions, cautions, joint_cautions
from reports.finding import Finding
from reports.frames import Frames
from reports.panel import Panel, panel
from reports.tradeoffs.figures import tradeoffs
from reports.tradeoffs.pareto import Tradeoff
from reports.training.at_best_rate import frames_at_best_rate, panel_at_best_rate
from reports.training.best_rates import BestRates, best_rates
from reports.training.common_rates import effects_at_common_rates
from reports.training.edges import Edges
from reports.training.names import MEASURE
from reports.training.pair_rates import PairRates
from reports.training.prediction import predictions
from reports.training.rate_tables import best_rate_table
from reports.training.survival import survival, survival_finding
from reports.training.told import findings_at_best_rate, rate_findings
from reports.variance import share_of_variance


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

    @cached_property
    def beside(self) -> Cautions:
        """What is said beside these effects."""
        return cautions(self.frames, self.effects)

    @cached_property
    def edges(self) -> Edges:
        """Which of these rates are at an edge of the grid."""
        return Edges(self.frames, self.rates)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What page and tables say of a run rests on this; what not all of them need is made once, when
    it is first asked for.

    Attributes:
        frames: The run.
        data: `reports.panel.panel` of the run.
        effects: `reports.effects.comparisons` of it.
        interactions: `reports.interactions.interaction_comparisons` of it.
        at_best: The run at the best learning rates, or None where it does not vary them.
    """

    frames: Frames
    data: Panel
    effects: pd.DataFrame
    interactions: pd.DataFrame
    at_best: AtBestRate | None

    @cached_property
    def beside(self) -> Cautions:
        """`reports.cautions.cautions` of it."""
        return cautions(self.frames, self.effects)

    @cached_property
    def joint(self) -> JointCautions:
        """`reports.cautions.joint_cautions` of it."""
        return joint_cautions(self.frames, self.interactions)

    @cached_property
    def variance(self) -> pd.DataFrame:
        """`reports.variance.share_of_variance` of it."""
        return share_of_variance(self.frames, self.data)

    @property
    def trained(self) -> bool:
        """Whether anything was to be trained."""
        return bool((self.frames.trials["measure"] == MEASURE).any())

    @cached_property
    def survival(self) -> pd.DataFrame:
        """`reports.training.survival.survival` of it."""
        return survival(self.frames)

    @cached_property
    def ended(self) -> Finding | None:
        """`reports.training.survival.survival_finding` of it."""
        return survival_finding(self.frames, self.pair_rates)

    @cached_property
    def pair_rates(self) -> PairRates:
        """The learning rates of its effects on trainings."""
        return PairRates(self.frames, self.data)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """`reports.training.prediction.predictions` of it."""
        return predictions(self.frames, self.data)

    @cached_property
    def tradeoffs(self) -> list[list[Tradeoff]]:
        """`reports.tradeoffs.figures.tradeoffs` of it."""
        return tradeoffs(self.frames, self)

    @cached_property
    def common(self) -> pd.DataFrame:
        """`reports.training.common_rates.effects_at_common_rates` of it."""
        return effects_at_common_rates(self.frames, self.data)

    @cached_property
    def best_rates(self) -> pd.DataFrame:
        """`reports.training.rate_tables.best_rate_table` of it, or a table of nothing."""
        return pd.DataFrame() if self.at_best is None else best_rate_table(self.at_best, self.data)

    @cached_property
    def rate_findings(self) -> list[Finding]:
        """`reports.training.told.rate_findings` of it."""
        return rate_findings(self.frames, self, self.beside)

    @cached_property
    def findings_at_best_rate(self) -> list[Finding]:
        """`reports.training.told.findings_at_best_rate` of it; none where there is no such run."""
        return [] if self.at_best is None else findings_at_best_rate(self.effects, self.at_best)


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
            frames=frames,
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
        frames=frames,
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
