"""Trainings that ended while their loss was still falling: their steps were too few to tell.

Shapes: T trials, P points of a curve.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.training.names import LOSS_CURVE

PART = 5
"""The mean of the last of so many parts of a curve is set against that of the one before it."""
MIN_POINTS = 3
"""Of a part."""
TIMES = 3.0
"""So many standard errors that one must be lower."""


def still_falling(frames: Frames, trials: pd.DataFrame) -> NDArray[np.bool_]:
    """(T,) whether the loss of a trial was lower in the last fifth of its curve than in the fifth
    before it, by three standard errors; False, too, where a curve is too short to tell.

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
    falls = np.zeros(len(trials), dtype=bool)
    for n in np.unique(n_points):
        rows, part = n_points == n, int(n) // PART
        if part >= MIN_POINTS:
            found = values[rows]
            falls[rows] = _falls(found[np.isfinite(found)].reshape(-1, int(n)), part)
    return falls


def _falls(curves: NDArray[np.float64], part: int) -> NDArray[np.bool_]:
    """(T,) of curves (T, P)."""
    before, last = curves[:, -2 * part : -part], curves[:, -part:]
    error = np.sqrt((before.var(axis=1, ddof=1) + last.var(axis=1, ddof=1)) / part)
    return np.asarray(before.mean(axis=1) - last.mean(axis=1) > TIMES * error, dtype=bool)
