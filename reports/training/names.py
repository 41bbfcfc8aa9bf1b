"""The names under which the training measure's figures and options arrive."""

MEASURE = "training"

LEARNT, STALLED, DIVERGED = "training.learnt", "training.stalled", "training.diverged"
"""Metrics, 1 or 0, of which each trial that ran has exactly one at 1, a diverged trial too."""

FINAL_LOSS, HELD_OUT_LOSS = "training.final_loss", "training.held_out_loss"
INITIAL_LOSS = "training.initial_loss"
FREQUENCY_LOSS = "training.frequency_loss"
ACCURACY = "training.accuracy"

LOSS_CURVE = "training.loss"
"""Profile along steps; that of a diverged trial ends before its first value that is not finite."""

LEARNING_RATE = "training.learning_rate"
"""The factor, where a grid varies it; its levels are numbers as text."""

OPTIONS = f"{MEASURE}."
"""How a factor's name begins that is an option of the training."""

AT_BEST_RATE, OVER_RATES = "training at its best rate", "training over rates"
"""Measures of the run in which every setting has its own best learning rate."""

BEST_RATE = "training.best_learning_rate"
SENSITIVITY = "training.learning_rate_sensitivity"


def at_best_rate(metric: str) -> str:
    """The name of a metric of the training where it is taken at the best learning rate."""
    return f"{metric}_at_best_rate"
