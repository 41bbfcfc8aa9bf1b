"""The page's section on training."""

from dataclasses import dataclass, replace

import pandas as pd

from reports.effects_section import effects_section
from reports.finding import Finding
from reports.frames import Frames
from reports.listing import Table
from reports.plots.style import Drawing
from reports.ranking import BUDGET
from reports.training.common_rates import common_rates_section
from reports.training.compared import AtBestRate, Compared
from reports.training.figures import training_figures
from reports.training.names import LEARNING_RATE
from reports.training.prediction_section import prediction_findings, predictions_section
from reports.training.rate_tables import best_rate_findings, best_rates_section
from reports.training.survival import survival_section

READ_RATES = (
    "Two comparisons stand side by side. With each at its own best learning rate the rate of a "
    "setting is chosen before levels are set against each other: for each seed by the lowest final "
    "loss of the other seeds, a rate at which a trial diverged being worse than any other. At a "
    "common rate both of a pair have the same one; the table of effects above averages over those, "
    "as findings say. At a common rate a level may win only since that rate suits it. Intervals at "
    "the best rates are adjusted together with those of the effects above; where seeds differ in "
    "the rate chosen for them they are no independent ones, and the scatter of n seeds counts "
    "√(1 + n/(n − 1)) times (Nadeau and Bengio 2003)."
)
READ_ONE_RATE = (
    "Losses of {whose} are compared at one learning rate, {rate}. One may win there only "
    "since that rate suits it: to compare each at its own best rate, make {factor} a factor with "
    "several levels, in a design that has every combination with it."
)
READ_SENSITIVITY = (
    "Sensitivity to the learning rate is the mean over the rates tried of min(loss, loss at "
    "initialization) less the best of them, with the final loss, a trial that diverged counted as "
    "its loss at initialization (Wortsman et al. 2023, arXiv:2309.14322). It depends on the rates "
    "tried, and a setting that learns at none of them has little to lose: read it beside the loss."
)


@dataclass(frozen=True, kw_only=True)
class TrainingSection:
    """What a page says of a run's training; a table that there is not is None.

    Attributes:
        figures: Survival, losses by learning rate and by step.
        findings: Sentences, those that the list at the top of the page has among them.
        survival: How the trials of each setting ended at each rate.
        notes: How to read what follows.
        best_rates: The best rate of each setting.
        effects: What levels do with each setting at its own best rate, on primary metrics.
        exploratory: The same on the other metrics.
        common: What they do at each common rate.
        predictions: What figures of the initial model foretell.
    """

    figures: list[Drawing]
    findings: list[Finding]
    survival: Table | None
    notes: list[str]
    best_rates: Table | None
    effects: Table | None
    exploratory: Table | None
    common: Table | None
    predictions: Table | None


def training_section(frames: Frames, compared: Compared) -> TrainingSection | None:
    """The section, or None where nothing was to be trained.

    Args:
        frames: The run.
        compared: `reports.training.compared.compare` of it.
    """
    if not compared.trained:
        return None
    foretold = compared.predictions
    at_best = compared.at_best
    findings = [compared.ended] if compared.ended else []
    rates, common = compared.best_rates, pd.DataFrame()
    if at_best is not None:
        optimistic = at_best.rates.optimistic
        common = compared.common
        findings += best_rate_findings(rates, optimistic=optimistic)
        findings += compared.rate_findings
        findings += compared.findings_at_best_rate
    return TrainingSection(
        figures=training_figures(frames, compared.effects),
        findings=[*findings, *prediction_findings(foretold)],
        survival=survival_section(frames, compared.survival),
        notes=[READ_RATES, READ_SENSITIVITY] if at_best else _one_rate(compared),
        best_rates=best_rates_section(rates, optimistic=optimistic) if at_best else None,
        effects=_effects(compared.effects, at_best, primary=True),
        exploratory=_effects(compared.effects, at_best, primary=False),
        common=common_rates_section(common),
        predictions=predictions_section(foretold),
    )


def _one_rate(compared: Compared) -> list[str]:
    rate = compared.pair_rates.only
    if rate is None:
        return []
    whose = compared.pair_rates.whose
    return [READ_ONE_RATE.format(rate=rate, factor=LEARNING_RATE, whose=whose)]


def _effects(effects: pd.DataFrame, at_best: AtBestRate | None, *, primary: bool) -> Table | None:
    """Effects with each setting at its own best rate, parameters beside them."""
    if at_best is None:
        return None
    budgets = effects[(effects["metric"] == BUDGET) & (effects["factor"] != LEARNING_RATE)]
    own = at_best.effects
    both = pd.concat([own, budgets.assign(primary=not primary)], ignore_index=True)
    table = effects_section(both, primary=primary, beside=at_best.beside)
    if table is None:
        return None
    how = "Each at its own best learning rate. "
    if at_best.rates.optimistic:
        how = "Each at the learning rate that is best in its only seed, which is optimistic. "
    note = table.note.replace("tables/effects.csv", "tables/effects_at_best_rate.csv")
    return replace(table, caption=how + table.caption, note=note)
