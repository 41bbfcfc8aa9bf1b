"""The figures of a run's training: which settings learn, at which rates, and how the loss falls."""

from functools import partial

import pandas as pd

from reports.frames import Frames
from reports.plots.loss_curves import describe_losses, plot_losses
from reports.plots.loss_lines import loss_lines
from reports.plots.rate_points import rates_table
from reports.plots.rates import describe_rates, plot_rates
from reports.plots.style import Drawing, draw
from reports.plots.survival import describe_survival, plot_survival
from reports.plots.survival_fields import survival_table
from reports.ranking import rank_factors
from reports.training.names import MEASURE


def training_figures(frames: Frames, effects: pd.DataFrame) -> list[Drawing]:
    """The survival map, losses by learning rate and losses by step, those that have data.

    Args:
        frames: The run; one that trained nothing has none of them.
        effects: `reports.effects.comparisons` of it.
    """
    ranking = rank_factors(frames, effects, MEASURE)
    drawings: list[Drawing] = []
    survival = survival_table(frames, ranking)
    if survival is not None:
        alt, caption = describe_survival(survival)
        drawings.append(draw(partial(plot_survival, survival), alt=alt, caption=caption))
    rates = rates_table(frames, ranking)
    if rates is not None:
        alt, caption = describe_rates(rates)
        drawings.append(draw(partial(plot_rates, rates, frames), alt=alt, caption=caption))
    lines = loss_lines(frames, ranking)
    if lines is not None:
        alt, caption = describe_losses(lines)
        drawings.append(draw(partial(plot_losses, lines, frames), alt=alt, caption=caption))
    return drawings
