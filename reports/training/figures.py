"""The figures of a run's training: which settings learn, at which rates, and how the loss falls."""

from functools import partial

import pandas as pd

from reports.frames import Frames
from reports.plots.data import figure_data
from reports.plots.loss_curves import describe_losses, plot_losses
from reports.plots.loss_lines import loss_lines
from reports.plots.rate_points import rates_table
from reports.plots.rates import describe_rates, plot_rates
from reports.plots.style import Drawing, Plot, draw
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
        data = figure_data("survival of training", "tables/trials.csv", survival.named())
        plot: Plot = partial(plot_survival, survival)
        drawings.append(draw(plot, alt=alt, caption=caption, data=data))
    rates = rates_table(frames, ranking)
    if rates is not None:
        alt, caption = describe_rates(rates)
        data = figure_data("losses by learning rate", "tables/metrics.csv", rates.points)
        plot = partial(plot_rates, rates, frames)
        drawings.append(draw(plot, alt=alt, caption=caption, data=data))
    lines = loss_lines(frames, ranking)
    if lines is not None:
        alt, caption = describe_losses(lines)
        drawn = lines.lines.merge(lines.points, on="line")
        data = figure_data("losses by step", "tables/profiles.csv", drawn)
        plot = partial(plot_losses, lines, frames)
        drawings.append(draw(plot, alt=alt, caption=caption, data=data))
    return drawings
