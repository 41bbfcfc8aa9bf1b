"""Metrics as arrays over cells and seeds, with the reason for every value that is not usable.

Shapes: M metrics, C cells, S seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames, not_applicable

REASONS = (
    *("used", "not run", "skipped", "not applicable", "marked", "no value", "failed", "diverged"),
)
"""Why a value is not compared, from mild to grave; of two reasons the graver one counts."""

_STATE_REASON: Mapping[str, str] = {
    "done": "used",
    "missing": "not run",
    "skipped": "skipped",
    "failed": "failed",
    "crashed": "failed",
    "timeout": "failed",
    "diverged": "diverged",
}
_CANCELLED = "cancelled_probe"
_AGREEMENTS = 4  # of a seed with another of its cell
_SQUARABLE = 1e150
"""A larger number has no finite square, nor two such a finite ratio: nothing to compare."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """All metrics of a run. Rows of ``values`` follow ``frames.cells``.

    Attributes:
        info: The rows of ``metric_info`` whose form is ``metric``, in order.
        seeds: (S,) every seed that any trial has.
        values: (M, C, S) the value, or its natural logarithm for a metric on log scale; NaN where
            it is not usable.
        reason: (M, C, S) an index into `REASONS`; 0 where the value may be compared.
        exact: (M,) whether no seed can change the metric.
        diverged: (M, C, S) where the measure diverged, or gave a value that is not finite.
    """

    info: pd.DataFrame
    seeds: NDArray[np.int64]
    values: NDArray[np.float64]
    reason: NDArray[np.int8]
    exact: NDArray[np.bool_]
    diverged: NDArray[np.bool_]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """(M, C, S) where the value may be compared."""
        return np.equal(self.reason, 0)

    def only(self, metric: str) -> "Panel":
        """The same run with one of its metrics."""
        index = self.info["metric"].to_list().index(metric)
        one = slice(index, index + 1)
        return Panel(
            info=self.info.iloc[one].reset_index(drop=True),
            seeds=self.seeds,
            values=self.values[one],
            reason=self.reason[one],
            exact=self.exact[one],
            diverged=self.diverged[one],
        )


def panel(frames: Frames) -> Panel:
    """Arrange the metrics of a run for comparison.

    A value enters when its trial's measure is done and not marked as a cancelled probe, and when
    its size is below 1e150 and, on a log scale, where zero has no logarithm, above 1e-150. A done
    trial with any other value has "no value": it is lost, as a diverged one is. To a done trial
    that left no row a metric is "not applicable", if no done trial of its cell left one: a measure
    leaves out what has no meaning for the cell, as NaN and infinity are values. Where another seed
    of the cell has the metric what is missing is lost, and has "no value". To a trial that was
    skipped since its measure does not apply to it no metric of that measure is applicable.
    """
    info = frames.metric_info[frames.metric_info["form"] == "metric"].reset_index(drop=True)
    seeds = np.unique(frames.trials["seed"].to_numpy(dtype=np.int64))
    cells = pd.Index(frames.cells["cell"])
    shape = (len(info), len(cells), len(seeds))

    values = np.full(shape, np.nan)
    present = np.zeros(shape, dtype=bool)
    measured = frames.metrics[frames.metrics["seed"].isin(seeds)]
    places = (
        pd.Index(info["metric"]).get_indexer(pd.Index(measured["metric"])),
        cells.get_indexer(pd.Index(measured["cell"])),
        np.searchsorted(seeds, measured["seed"].to_numpy(dtype=np.int64)),
    )
    values[places] = measured["value"].to_numpy(dtype=np.float64)
    present[places] = True

    log = (info["scale"] == "log").to_numpy(dtype=bool)
    with np.errstate(invalid="ignore"):
        valid = np.where(log[:, None, None], values > 1 / _SQUARABLE, True)
        valid &= np.abs(values) < _SQUARABLE
    reason = _trial_reasons(frames, info, cells, seeds)
    done = reason == 0
    in_cell = (done & present).any(axis=2, keepdims=True)
    reason[done & ~present & ~in_cell] = REASONS.index("not applicable")
    reason[done & ~present & in_cell] = REASONS.index("no value")
    unusable = (reason == 0) & ~valid
    diverged = (reason == REASONS.index("diverged")) | (unusable & ~np.isfinite(values))
    reason[unusable] = REASONS.index("no value")
    usable = reason == 0
    values[~usable] = np.nan
    values[log] = np.log(values[log])
    return Panel(
        info=info,
        seeds=seeds,
        values=values,
        reason=reason,
        exact=_exact(values, usable, info),
        diverged=diverged,
    )


def _trial_reasons(
    frames: Frames, info: pd.DataFrame, cells: "pd.Index[Any]", seeds: NDArray[np.int64]
) -> NDArray[np.int8]:
    """(M, C, S) the reason that the trial of each metric's measure gives."""
    trials = frames.trials
    measures = pd.Index(info["measure"].unique())
    codes = trials["state"].map({s: REASONS.index(r) for s, r in _STATE_REASON.items()})
    grave = np.array(codes, dtype=np.int8)
    grave[not_applicable(trials).to_numpy(dtype=bool)] = REASONS.index("not applicable")
    cancelled = [_CANCELLED in marks.split(",") for marks in trials["marks"]]
    grave = np.maximum(grave, np.where(cancelled, np.int8(REASONS.index("marked")), np.int8(0)))

    by_measure = np.full(
        (len(measures), len(cells), len(seeds)), REASONS.index("not run"), dtype=np.int8
    )
    measure = measures.get_indexer(pd.Index(trials["measure"]))
    known = measure >= 0
    by_measure[
        measure[known],
        cells.get_indexer(pd.Index(trials["cell"]))[known],
        np.searchsorted(seeds, trials["seed"].to_numpy(dtype=np.int64))[known],
    ] = grave[known]
    of_metric = measures.get_indexer(pd.Index(info["measure"]))
    return np.asarray(by_measure[of_metric], dtype=np.int8)


def _exact(
    values: NDArray[np.float64], usable: NDArray[np.bool_], info: pd.DataFrame
) -> NDArray[np.bool_]:
    """(M,) unchanged by the seed in every cell, and declared so.

    Seeds that agree are no proof, as a metric of few values often does by chance. Where nothing is
    declared of any metric `_AGREEMENTS` of them have to do.
    """
    if values.shape[2] == 0:
        return np.zeros(len(values), dtype=bool)
    highest = np.where(usable, values, -np.inf).max(axis=2)  # (M, C)
    lowest = np.where(usable, values, np.inf).min(axis=2)  # (M, C)
    changed = (highest > lowest).any(axis=1)
    if "exact" in info:
        return np.asarray(~changed & info["exact"].to_numpy(dtype=bool), dtype=bool)
    agreements = np.maximum(usable.sum(axis=2) - 1, 0).sum(axis=1)
    return np.asarray(~changed & (agreements >= _AGREEMENTS), dtype=bool)
