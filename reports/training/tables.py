"""What is made of a run's training, as tables for tables/*.csv."""

import pandas as pd

from reports.conditional import CONDITIONAL_COLUMNS
from reports.effects import EFFECT_COLUMNS
from reports.frames import Frames
from reports.interactions import INTERACTION_COLUMNS
from reports.training.common_rates import effects_at_common_rates
from reports.training.compared import Compared
from reports.training.names import MEASURE
from reports.training.prediction import predictions
from reports.training.rate_tables import best_rate_table
from reports.training.survival import survival


def training_tables(frames: Frames, compared: Compared) -> dict[str, pd.DataFrame]:
    """By file name; none of a run that trains nothing.

    ``survival`` and ``predictions``, and where the run varies the learning rate ``best_rates``,
    ``effects_at_best_rate``, ``interactions_at_best_rate`` and ``effects_at_common_rates``.

    Args:
        frames: The run.
        compared: `reports.training.compared.compare` of it.
    """
    if not (frames.trials["measure"] == MEASURE).any():
        return {}
    tables = {"survival": survival(frames), "predictions": predictions(frames, compared.data)}
    at_best = compared.at_best
    if at_best is not None:
        common = effects_at_common_rates(frames, compared.data)
        tables |= {
            "best_rates": best_rate_table(at_best, compared.data),
            "effects_at_best_rate": at_best.effects[list(EFFECT_COLUMNS)],
            "interactions_at_best_rate": at_best.interactions[list(INTERACTION_COLUMNS)],
            "effects_at_common_rates": common[list(CONDITIONAL_COLUMNS)],
        }
    return tables
