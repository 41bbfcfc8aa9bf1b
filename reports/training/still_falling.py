"""Trainings that ended while their loss was still falling: their steps were too few to tell.

Shapes: T trials, P points of a curve.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.training.names import FREQUENCY_LOSS, LOSS_CURVE

FALLING, LEVEL, FAR, UNKNOWN = 1, 0, 2, -1
"""What is told of a trial's loss at its end; a curve may be too short to tell. `FAR` is one that
does not fall, and is far above what knowing the frequencies of tokens alone costs: a schedule that
ends makes a loss level as well as a plateau does."""

LEAST = 30
"""Points of a curve, so that a tenth of them has three."""

TIMES = 3.0
"""So many standard errors the last fifth of a curve must lie below the fifth before it."""

FAR_ABOVE = 0.1
"""So much of the way from the first loss to what frequencies cost is left where it is far."""

LEAST_FALL = 0.01
"""So much of all that the loss changed must lie between the two."""


def still_falling(frames: Frames, trials: pd.DataFrame) -> NDArray[np.int8]:
    """(T,) what is told of the loss of each trial: `FALLING`, `LEVEL`, `FAR`, or `UNKNOWN`.

    It was falling where it is lower in the last fifth of its curve than in the fifth before it, by
    `TIMES` standard errors and `LEAST_FALL`, and in the last tenth than in the tenth before that,
    by one standard error: what fell and then stayed is level.

    Args:
        frames: The run.
        trials: A row for each trial, with its ``cell`` (as in ``frames.cells``) and ``seed``.
    """
    wanted = pd.MultiIndex.from_frame(trials[["cell", "seed"]])
    curves = frames.profiles[frames.profiles["profile"] == LOSS_CURVE]
    curves = curves[pd.MultiIndex.from_frame(curves[["cell", "seed"]]).isin(wanted)]
    table = curves.pivot(index=["cell", "seed"], columns="step", values="value")
    values = table.sort_index(axis=1).reindex(wanted).to_numpy(dtype=np.float64)  # (T, steps)
    n_points = np.isfinite(values).sum(axis=1)
    costs = frames.metrics[frames.metrics["metric"] == FREQUENCY_LOSS]
    known = costs.set_index(["cell", "seed"])["value"].reindex(wanted).to_numpy(dtype=np.float64)
    told = np.full(len(trials), UNKNOWN, dtype=np.int8)
    for n in np.unique(n_points[n_points >= LEAST]):
        rows = n_points == n
        found = values[rows]
        curves = found[np.isfinite(found)].reshape(-1, int(n))
        level = np.where(_far(curves, known[rows]), FAR, LEVEL)
        told[rows] = np.where(_falls(curves), FALLING, level)
    return told


def _falls(curves: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(T,) of curves (T, P)."""
    n = curves.shape[1]
    drop, error = _drop(curves, n // 5)
    lately, error_lately = _drop(curves, n // 10)
    all_of_it = np.abs(curves[:, 0] - curves[:, -(n // 5) :].mean(axis=1))
    enough = (drop > TIMES * error) & (drop > LEAST_FALL * all_of_it)
    return np.asarray(enough & (lately > error_lately), dtype=bool)


def _far(curves: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(T,) of curves (T, P) and what frequencies cost (T,); False where that is not known."""
    left = curves[:, -(curves.shape[1] // 10) :].mean(axis=1) - cost
    return np.asarray(left > FAR_ABOVE * np.abs(curves[:, 0] - cost), dtype=bool)


def _drop(
    curves: NDArray[np.float64], part: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(T,) how much lower the last points are than as many before them, and its standard error."""
    before, last = curves[:, -2 * part : -part], curves[:, -part:]
    error = np.sqrt((before.var(axis=1, ddof=1) + last.var(axis=1, ddof=1)) / part)
    return before.mean(axis=1) - last.mean(axis=1), error
