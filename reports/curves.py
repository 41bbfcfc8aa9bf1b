"""Profiles as arrays: the trials that may be drawn, and why the others may not.

What was taken along depth or context at several training steps is a curve for each of them, so that
no figure mixes values of different steps.

Shapes: K values of one profile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames, not_applicable
from reports.marks import CANCELLED
from reports.records import records


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The values of one profile in the trials that are done and have only usable values.

    Attributes:
        about: The profile's row of ``metric_info``.
        at_step: The training step at which it was taken, where it was at several; else None.
        axis: ``depth``, ``step`` or ``context``; ``""`` without a value.
        cell: (K,) the row of ``frames.cells``.
        seed: (K,) the seed.
        x: (K,) the step along steps, else the position.
        value: (K,) the value, or its natural logarithm on a log scale.
        n_trials: Trials with values here.
        n_absent: Trials that the profile does not apply to: done without any value, or skipped.
        n_cancelled: Done trials with a cancelled probe, which are never compared.
        n_lost: The other trials that were asked for: not done, or with a value that is not usable.
    """

    about: Any
    axis: str
    at_step: int | None = None
    cell: NDArray[np.intp]
    seed: NDArray[np.int64]
    x: NDArray[np.int64]
    value: NDArray[np.float64]
    n_trials: int
    n_absent: int
    n_cancelled: int
    n_lost: int

    @property
    def same_everywhere(self) -> bool:
        """Whether no trial changes along the axis, so that there is nothing to see along it."""
        first = np.flatnonzero(np.diff(self.cell) | np.diff(self.seed)) + 1
        starts = np.concatenate([[0], first]) if len(self.value) else np.empty(0, dtype=np.intp)
        counts = np.diff(np.append(starts, len(self.value)))
        return bool((self.value == np.repeat(self.value[starts], counts)).all())


def curves(frames: Frames) -> Mapping[str, Curve]:
    """Every profile of a run by its name, in the order in which they are declared.

    The names of one taken along something else at several training steps say which, as
    ``training.sensitivity at step 50``; these are ascending.

    A trial is in whole or not at all: one value that is not finite, or that has no logarithm on a
    log scale, takes it out.
    """
    info = frames.metric_info[frames.metric_info["form"] == "profile"]
    names = pd.Index(info["metric"])
    rows = frames.profiles
    profile = names.get_indexer(pd.Index(rows["profile"]))
    cell = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(rows["cell"]))
    seed = rows["seed"].to_numpy(dtype=np.int64)
    stepwise = (rows["axis"] == "step").to_numpy(dtype=bool)
    x = np.where(stepwise, rows["step"].to_numpy(), rows["position"].to_numpy())
    step = np.where(stepwise, 0, rows["step"].to_numpy())
    order = np.lexsort((x, seed, cell, step, profile))
    ends = np.searchsorted(profile[order], np.arange(len(names) + 1))
    value = rows["value"].to_numpy(dtype=np.float64)
    axis = rows["axis"].to_numpy()
    states = {measure: _asked(frames, measure) for measure in info["measure"].unique()}
    found: dict[str, Curve] = {}
    for number, about in enumerate(records(info)):
        mine = order[ends[number] : ends[number + 1]]
        for at_step, some in _by_step(mine, step):
            name = about.metric if at_step is None else f"{about.metric} at step {at_step}"
            found[name] = _curve(
                about,
                str(axis[some[0]]) if len(some) else "",
                at_step,
                *(column[some] for column in (cell, seed, x, value)),
                asked=states[about.measure],
            )
    return found


def _by_step(
    rows: NDArray[np.intp], step: NDArray[np.int64]
) -> Iterator[tuple[int | None, NDArray[np.intp]]]:
    """Rows of a profile by the training step at which they were taken; None if it is the same."""
    steps = np.unique(step[rows])
    if len(steps) < 2:
        yield None, rows
        return
    for one in steps:
        yield int(one), rows[step[rows] == one]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The trials of a measure: which are done, by row of cells and seed, and how many the rest."""

    done: set[tuple[int, int]]
    n_cancelled: int
    n_unfit: int
    """Skipped since the measure does not apply to them."""
    n_all: int


def _asked(frames: Frames, measure: str) -> _Asked:
    trials = frames.trials[frames.trials["measure"] == measure]
    done = trials[trials["state"] == "done"]
    cancelled = np.array([CANCELLED in marks.split(",") for marks in done["marks"]], dtype=bool)
    honest = done[~cancelled]
    cells = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(honest["cell"]))
    return _Asked(
        done=set(zip(cells.tolist(), honest["seed"].tolist(), strict=True)),
        n_cancelled=int(cancelled.sum()),
        n_unfit=int(not_applicable(trials).sum()),
        n_all=len(trials),
    )


def _curve(
    about: Any,
    axis: str,
    at_step: int | None,
    cell: NDArray[np.intp],
    seed: NDArray[np.int64],
    x: NDArray[np.int64],
    value: NDArray[np.float64],
    *,
    asked: _Asked,
) -> Curve:
    """The usable trials of one profile; its rows are ordered by cell, seed and x."""
    changes = np.flatnonzero(np.diff(cell) | np.diff(seed)) + 1
    starts = np.concatenate([[0], changes]) if len(cell) else np.empty(0, dtype=np.intp)
    log = about.scale == "log"
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(value) & ((value > 0) if log else True)
    trials = list(zip(cell[starts].tolist(), seed[starts].tolist(), strict=True))
    is_done = np.array([trial in asked.done for trial in trials], dtype=bool)
    whole = np.logical_and.reduceat(usable, starts) if len(starts) else np.empty(0, dtype=bool)
    drawn = is_done & whole
    kept = np.repeat(drawn, np.diff(np.append(starts, len(cell))))
    n_absent = asked.n_unfit + len(asked.done) - int(is_done.sum())
    return Curve(
        about=about,
        axis=axis,
        at_step=at_step,
        cell=cell[kept],
        seed=seed[kept],
        x=x[kept],
        value=np.log(value[kept]) if log else value[kept],
        n_trials=int(drawn.sum()),
        n_absent=n_absent,
        n_cancelled=asked.n_cancelled,
        n_lost=asked.n_all - asked.n_cancelled - int(drawn.sum()) - n_absent,
    )
