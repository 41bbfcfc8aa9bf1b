"""What is made of a run's training, as tables for tables/*.csv."""

import pandas as pd

from reports.conditional import CONDITIONAL_COLUMNS
from reports.effects import EFFECT_COLUMNS
from reports.interactions import INTERACTION_COLUMNS
from reports.training.compared import Compared


def training_tables(compared: Compared) -> dict[str, pd.DataFrame]:
    """By file name; none of a run that trains nothing.

    ``survival`` and ``predictions``, and where the run varies the learning rate ``best_rates``,
    ``effects_at_best_rate``, ``interactions_at_best_rate`` and ``effects_at_common_rates``.

    Args:
        compared: `reports.training.compared.compare` of the run.
    """
    if not compared.trained:
        return {}
    tables = {"survival": compared.survival, "predictions": compared.predictions}
    at_best = compared.at_best
    if at_best is not None:
        tables |= {
            "best_rates": compared.best_rates,
            "effects_at_best_rate": at_best.effects[list(EFFECT_COLUMNS)],
            "interactions_at_best_rate": at_best.interactions[list(INTERACTION_COLUMNS)],
            "effects_at_common_rates": compared.common[list(CONDITIONAL_COLUMNS)],
        }
    return tables
