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

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The rows of ``frames.profiles``, which may be many: columns of the frame, and no copies."""

    cell: NDArray[np.int32]
    seed: Ints
    stepwise: NDArray[np.bool_]
    position: Ints
    step: Ints
    value: NDArray[np.float64]

    def x(self, rows: Ints) -> Ints:
        """The step along steps, else the position."""
        return np.where(self.stepwise[rows], self.step[rows], self.position[rows])

    def at_step(self, rows: Ints) -> Ints:
        """The training step of what was taken along something else; 0 along steps."""
        return np.where(self.stepwise[rows], 0, self.step[rows])


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The values of one profile in the trials that are done and have only usable values.

    Attributes:
        about: The profile's row of ``metric_info``.
        at_step: The training step at which it was taken, where it was at several; else None.
        axis: ``depth``, ``step`` or ``context``; ``""`` without a value.
        rows: (K,) rows of ``frames.profiles``, by cell, seed and x.
        n_trials: Trials with values here.
        n_absent: Trials that the profile does not apply to: done without any value, or skipped.
        n_cancelled: Done trials with a cancelled probe, which are never compared.
        n_lost: The other trials that were asked for: not done, or with a value that is not usable.
    """

    about: Any
    axis: str
    at_step: int | None = None
    rows: Ints
    n_trials: int
    n_absent: int
    n_cancelled: int
    n_lost: int
    all_rows: _Rows

    @property
    def cell(self) -> Ints:
        """(K,) the row of ``frames.cells``."""
        return self.all_rows.cell[self.rows]

    @property
    def seed(self) -> Ints:
        """(K,) the seed."""
        return self.all_rows.seed[self.rows]

    @property
    def x(self) -> Ints:
        """(K,) the step along steps, else the position."""
        return self.all_rows.x(self.rows)

    @property
    def value(self) -> NDArray[np.float64]:
        """(K,) the value, or its natural logarithm on a log scale."""
        value = self.all_rows.value[self.rows]
        return np.log(value) if self.about.scale == "log" else value

    @property
    def same_everywhere(self) -> bool:
        """Whether no trial changes along the axis, so that there is nothing to see along it."""
        starts = _starts(self.cell, self.seed)
        counts = np.diff(np.append(starts, len(self.rows)))
        value = self.value
        return bool((value == np.repeat(value[starts], counts)).all())


def curves(frames: Frames) -> Mapping[str, Curve]:
    """Every profile of a run by its name, in the order in which they are declared.

    The names of one taken along something else at several training steps say which, as
    ``training.sensitivity at step 50``; these are ascending.

    A trial is in whole or not at all: one value that is not finite, or that has no logarithm on a
    log scale, takes it out.
    """
    info = frames.metric_info[frames.metric_info["form"] == "profile"]
    names = pd.Index(info["metric"])
    table = frames.profiles
    profile = _places(table["profile"], names)
    columns = _Rows(
        cell=_places(table["cell"], pd.Index(frames.cells["cell"])),
        seed=table["seed"].to_numpy(),
        stepwise=(table["axis"] == "step").to_numpy(dtype=bool),
        position=table["position"].to_numpy(),
        step=table["step"].to_numpy(),
        value=table["value"].to_numpy(dtype=np.float64),
    )
    small = profile.astype(np.min_scalar_type(len(names)))  # which sorts in one pass
    order = np.argsort(small, kind="stable").astype(np.int32)
    ends = np.cumsum([0, *np.bincount(profile, minlength=len(names))])
    asked = {measure: _asked(frames, measure) for measure in info["measure"].unique()}
    found: dict[str, Curve] = {}
    for number, about in enumerate(records(info)):
        mine = _ordered(order[ends[number] : ends[number + 1]], columns)
        axis = str(table["axis"].iloc[mine[0]]) if len(mine) else ""
        for at_step, some in _by_step(mine, columns):
            name = about.metric if at_step is None else f"{about.metric} at step {at_step}"
            found[name] = _curve(about, axis, at_step, some, columns, asked[about.measure])
    return found


def _places(column: "pd.Series[str]", names: "pd.Index[str]") -> NDArray[np.int32]:
    """(rows,) where each text of a column is among the names."""
    codes, texts = pd.factorize(column)  # a few distinct texts stand in many rows
    return np.asarray(names.get_indexer(pd.Index(texts))[codes], dtype=np.int32)


def _ordered(rows: Ints, columns: _Rows) -> Ints:
    """Rows of one profile by training step, cell, seed and x, as they mostly are."""
    keys = columns.x(rows), columns.seed[rows], columns.cell[rows], columns.at_step(rows)
    in_order = np.ones(max(len(rows) - 1, 0), dtype=bool)
    for key in keys:
        before, after = key[:-1], key[1:]
        in_order = (before < after) | ((before == after) & in_order)
    return rows if in_order.all() else rows[np.lexsort(keys)]


def _by_step(rows: Ints, columns: _Rows) -> Iterator[tuple[int | None, Ints]]:
    """Rows of a profile by the training step at which they were taken; None if it is the same."""
    step = columns.at_step(rows)
    starts = np.flatnonzero(np.diff(step)) + 1
    if not len(starts):
        yield None, rows
        return
    for some in np.split(rows, starts):
        yield int(columns.step[some[0]]), some


def _starts(cell: Ints, seed: Ints) -> NDArray[np.intp]:
    """Where the values of each trial begin."""
    changes = np.flatnonzero((np.diff(cell) != 0) | (np.diff(seed) != 0)) + 1
    return np.concatenate([[0], changes]) if len(cell) else np.empty(0, dtype=np.intp)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The trials of a measure: which are done, by row of cells and seed, and how many the rest."""

    done: "pd.MultiIndex"
    n_cancelled: int
    n_unfit: int
    """Skipped since the measure does not apply to them."""
    n_all: int


def _asked(frames: Frames, measure: str) -> _Asked:
    trials = frames.trials[frames.trials["measure"] == measure]
    done = trials[trials["state"] == "done"]
    cancelled = np.array([CANCELLED in marks.split(",") for marks in done["marks"]], dtype=bool)
    honest = done[~cancelled]
    cells = _places(honest["cell"], pd.Index(frames.cells["cell"]))
    return _Asked(
        done=pd.MultiIndex.from_arrays([cells, honest["seed"].to_numpy()]),
        n_cancelled=int(cancelled.sum()),
        n_unfit=int(not_applicable(trials).sum()),
        n_all=len(trials),
    )


def _curve(
    about: Any, axis: str, at_step: int | None, rows: Ints, columns: _Rows, asked: _Asked
) -> Curve:
    """The usable trials of one profile; its rows are ordered by cell, seed and x."""
    cell, seed, value = columns.cell[rows], columns.seed[rows], columns.value[rows]
    starts = _starts(cell, seed)
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(value) & ((value > 0) if about.scale == "log" else True)
    trials = pd.MultiIndex.from_arrays([cell[starts], seed[starts]])
    is_done = asked.done.get_indexer(trials) >= 0
    whole = np.logical_and.reduceat(usable, starts) if len(starts) else np.empty(0, dtype=bool)
    drawn = is_done & whole
    kept = np.repeat(drawn, np.diff(np.append(starts, len(rows))))
    n_absent = asked.n_unfit + len(asked.done) - int(is_done.sum())
    return Curve(
        about=about,
        axis=axis,
        at_step=at_step,
        rows=rows[kept],
        n_trials=int(drawn.sum()),
        n_absent=n_absent,
        n_cancelled=asked.n_cancelled,
        n_lost=asked.n_all - asked.n_cancelled - int(drawn.sum()) - n_absent,
        all_rows=columns,
    )
