"""Metrics as arrays over cells and seeds, with the reason for every value that is not usable.

Shapes: M metrics, C cells, S seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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
_DIVERGED = REASONS.index("diverged")
_CANCELLED = "cancelled_probe"
_AGREEMENTS = 4  # of a seed with another of its cell
_SQUARABLE = 1e150
"""A larger number has no finite square, nor two such a finite ratio: nothing to compare."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """All metrics of a run. Rows of ``values`` follow ``frames.cells``.

    Attributes:
        info: The rows of ``metric_info`` of metrics that are compared, in order.
        seeds: (S,) every seed that any trial has.
        values: (M, C, S) the value, or its natural logarithm for a metric on log scale; NaN where
            it is not usable.
        reason: (M, C, S) an index into `REASONS`; 0 where the value may be compared.
        exact: (M,) whether no seed can change the metric.
        diverged: (M, C, S) where the measure diverged, or gave a value that is not finite; not
            where the metric is defined in a diverged trial and its value may be compared.
        spread: (M, C) how many times as far as they seem to the values of a cell scatter over
            seeds, which are not independent where something was chosen by the others of them; None
            if that is nowhere.
    """

    info: pd.DataFrame
    seeds: NDArray[np.int64]
    values: NDArray[np.float64]
    reason: NDArray[np.int8]
    exact: NDArray[np.bool_]
    diverged: NDArray[np.bool_]
    spread: NDArray[np.float64] | None = None

    @property
    def usable(self) -> NDArray[np.bool_]:
        """(M, C, S) where the value may be compared."""
        return np.equal(self.reason, 0)

    def only(self, *metrics: str) -> "Panel":
        """The same run with some of its metrics."""
        return self.at(np.flatnonzero(self.info["metric"].isin(metrics)))

    def at(self, places: NDArray[np.intp]) -> "Panel":
        """The same run with the metrics at some places, in their order."""
        return Panel(
            info=self.info.iloc[places].reset_index(drop=True),
            seeds=self.seeds,
            values=self.values[places],
            reason=self.reason[places],
            exact=self.exact[places],
            diverged=self.diverged[places],
            spread=None if self.spread is None else self.spread[places],
        )


def panel(frames: Frames) -> Panel:
    """Arrange the metrics of a run for comparison.

    A value enters when its trial's measure is done and not marked as a cancelled probe, and when
    its size is below 1e150 and, on a log scale, where zero has no logarithm, above 1e-150. A done
    trial with any other value has "no value": it is lost, as a diverged one is. To a done trial
    that left no row a metric is "not applicable", if no done trial of its cell left one: a measure
    leaves out what has no meaning for the cell, as NaN and infinity are values. Where another seed
    of the cell has the metric what is missing is lost, and has "no value". To a trial that was
    skipped since its measure does not apply to it no metric of that measure is applicable. A metric
    of which no trial of a cell left a row though some are done is not applicable to those of the
    cell that failed or diverged either: nothing of it was lost.

    A metric that ``metric_info`` declares defined when diverged enters from a diverged trial as
    from one that is done. Left out are metrics that it declares never compared, and those of which
    no trial of the run left a row, though some of their measure are done.
    """
    info = _compared(frames)
    seeds = np.unique(frames.trials["seed"].to_numpy(dtype=np.int64))
    cells = pd.Index(frames.cells["cell"])
    shape = (len(info), len(cells), len(seeds))

    values = np.full(shape, np.nan)
    present = np.zeros(shape, dtype=bool)
    measured = frames.metrics
    measured = measured[measured["seed"].isin(seeds) & measured["metric"].isin(info["metric"])]
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
    given, cancelled = _reasons(frames.trials)
    reason = _of_trials(frames, info, seeds, given, absent="not run")
    marked = _of_trials(frames, info, seeds, cancelled, absent="used") > 0
    defined = _flag(info, "defined_when_diverged", False)[:, None, None] & present & valid
    reason[defined & ~marked & (reason == _DIVERGED)] = 0
    done = reason == 0
    in_cell = (done & present).any(axis=2, keepdims=True)
    reason[done & ~present & in_cell] = REASONS.index("no value")
    ended = done | (reason >= REASONS.index("failed"))
    meaningless = ~present.any(axis=2, keepdims=True) & done.any(axis=2, keepdims=True)
    reason[ended & meaningless] = REASONS.index("not applicable")
    unusable = (reason == 0) & ~valid
    diverged = (reason == _DIVERGED) | (unusable & ~np.isfinite(values))
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


def _compared(frames: Frames) -> pd.DataFrame:
    """The metrics that are compared."""
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    done = frames.trials.loc[frames.trials["state"] == "done", "measure"].unique()
    left = frames.metrics["metric"].unique()
    meaningless = info["measure"].isin(done) & ~info["metric"].isin(left)
    return info[_flag(info, "compared", True) & ~meaningless].reset_index(drop=True)


def _flag(info: pd.DataFrame, column: str, default: bool) -> NDArray[np.bool_]:
    """An optional flag of each row."""
    if column not in info:
        return np.full(len(info), default)
    return np.asarray(info[column], dtype=bool)


def _reasons(trials: pd.DataFrame) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The reason that each trial gives, and the one that it has for a mark alone."""
    codes = trials["state"].map({s: REASONS.index(r) for s, r in _STATE_REASON.items()})
    grave = np.array(codes, dtype=np.int8)
    grave[not_applicable(trials).to_numpy(dtype=bool)] = REASONS.index("not applicable")
    is_marked = [_CANCELLED in marks.split(",") for marks in trials["marks"]]
    cancelled = np.where(is_marked, np.int8(REASONS.index("marked")), np.int8(0))
    return np.maximum(grave, cancelled), cancelled


def _of_trials(
    frames: Frames,
    info: pd.DataFrame,
    seeds: NDArray[np.int64],
    reasons: NDArray[np.int8],
    *,
    absent: str,
) -> NDArray[np.int8]:
    """(M, C, S) the reason that the trial of each metric's measure has."""
    trials = frames.trials
    cells = pd.Index(frames.cells["cell"])
    measures = pd.Index(info["measure"].unique())
    shape = (len(measures), len(cells), len(seeds))
    by_measure = np.full(shape, REASONS.index(absent), dtype=np.int8)
    measure = measures.get_indexer(pd.Index(trials["measure"]))
    known = measure >= 0
    by_measure[
        measure[known],
        cells.get_indexer(pd.Index(trials["cell"]))[known],
        np.searchsorted(seeds, trials["seed"].to_numpy(dtype=np.int64))[known],
    ] = reasons[known]
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
