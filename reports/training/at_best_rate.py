"""A run in which every setting has its own best learning rate, for the same rules to compare.

Shapes: C cells, G settings, R learning rates, S seeds.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.panel import Panel, panel
from reports.training.best_rates import BestRates
from reports.training.names import (
    ACCURACY,
    AT_BEST_RATE,
    BEST_RATE,
    FINAL_LOSS,
    HELD_OUT_LOSS,
    MEASURE,
    OVER_RATES,
    SENSITIVITY,
    at_best_rate,
)

TAKEN = (FINAL_LOSS, HELD_OUT_LOSS, ACCURACY)
"""Metrics of the training that are taken at the best rate, those of them that are compared."""

_UNFIT = "the grid does not train it at every learning rate"
_UNKNOWN = "no learning rate could be chosen"

Places = NDArray[np.intp]


def frames_at_best_rate(frames: Frames, data: Panel, rates: BestRates) -> Frames:
    """The run with the learning rate of each setting and seed chosen, and no longer a factor.

    Its cells are settings. Its metrics are those of `TAKEN` at the chosen rate, that rate, and the
    sensitivity to it. What became of a trial is what became of the one that was taken, or, where
    no rate could be chosen, of the worst of those that were to choose it; for the sensitivity,
    which takes every rate, of the worst of all.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        rates: `reports.training.best_rates.best_rates` of it.
    """
    taken = [metric for metric in TAKEN if (data.info["metric"] == metric).any()]
    return replace(
        frames,
        cells=rates.settings.cells,
        factors=rates.settings.factors,
        trials=pd.concat(
            [_taken_trials(frames, rates), _trials_over_rates(frames, rates)], ignore_index=True
        ),
        metrics=_metrics(frames, rates, taken),
        profiles=frames.profiles.iloc[:0],
        metric_info=_info(frames, rates, taken),
        arrays={},
    )


def panel_at_best_rate(frames: Frames, rates: BestRates) -> Panel:
    """`reports.panel.panel` of such a run, with the scatter over seeds that the choice hides.

    Args:
        frames: `frames_at_best_rate` of a run.
        rates: How the rates were chosen.
    """
    data = panel(frames)
    losses, chosen = rates.spread
    spread = np.ones((len(data.info), len(rates.settings)))
    spread[(data.info["measure"] == AT_BEST_RATE).to_numpy(dtype=bool)] = losses
    spread[(data.info["metric"] == BEST_RATE).to_numpy(dtype=bool)] = chosen
    return replace(data, spread=spread)


def _keys(rates: BestRates) -> pd.DataFrame:
    """A row for each setting and seed (G·S), in order."""
    cells = rates.settings.cells["cell"].to_numpy(dtype=object)
    n_seeds = len(rates.seeds)
    return pd.DataFrame(
        {"cell": np.repeat(cells, n_seeds), "seed": np.tile(rates.seeds, len(cells))}
    )


def _taken_trials(frames: Frames, rates: BestRates) -> pd.DataFrame:
    """What became of the metrics at the best rate."""
    cell, seed = np.empty_like(rates.chosen), np.empty_like(rates.chosen)  # (G, S)
    for g, s in np.ndindex(*rates.chosen.shape):
        rate, of = int(rates.chosen[g, s]), s
        if rate < 0:
            worst = np.where(rates.diverged[g], 0, rates.reason[g])  # (R, S)
            if not rates.optimistic:
                worst[:, s] = -1
            rate, of = divmod(int(worst.argmax()), len(rates.seeds))
        cell[g, s], seed[g, s] = rates.cells[g, rate], of
    table = _trials(frames, rates, cell, seed, AT_BEST_RATE)
    lost = (rates.chosen < 0).ravel() & table["state"].isin(["done", "diverged"]).to_numpy()
    return _with_state(table, lost & np.repeat(rates.whole, len(rates.seeds)), "failed", _UNKNOWN)


def _trials_over_rates(frames: Frames, rates: BestRates) -> pd.DataFrame:
    """What became of the sensitivity."""
    worst = rates.reason.argmax(axis=1)  # (G, S)
    cell = np.take_along_axis(rates.cells, worst, axis=1)
    seed = np.broadcast_to(np.arange(len(rates.seeds)), worst.shape)
    table = _trials(frames, rates, cell, seed, OVER_RATES)
    return _with_state(table, np.isfinite(rates.sensitivity).ravel(), "done", "")


def _trials(
    frames: Frames, rates: BestRates, cell: Places, seed: Places, measure: str
) -> pd.DataFrame:
    """The trials of some cells (G, S) with some seeds (G, S), under the names of settings."""
    trained = frames.trials[frames.trials["measure"] == MEASURE]
    key = pd.MultiIndex.from_frame(trained[["cell", "seed"]])
    names = frames.cells["cell"].to_numpy(dtype=object)[cell.ravel()]
    at = key.get_indexer(pd.MultiIndex.from_arrays([names, rates.seeds[seed.ravel()]]))
    whole = np.repeat(rates.whole, len(rates.seeds))
    at = np.where(whole, at, -1)
    found = trained.iloc[at].reset_index(drop=True)
    found = found.assign(measure=measure, marks=found["marks"].where(at >= 0, ""))
    found[["cell", "seed"]] = _keys(rates)
    return _with_state(_with_state(found, at < 0, "missing"), ~whole, "skipped", _UNFIT)


def _with_state(
    table: pd.DataFrame, rows: NDArray[np.bool_], state: str, message: str = ""
) -> pd.DataFrame:
    return table.assign(
        state=table["state"].astype(object).where(~rows, state),
        message=table["message"].astype(object).where(~rows, message),
    )


def _metrics(frames: Frames, rates: BestRates, taken: list[str]) -> pd.DataFrame:
    """The values of the chosen trials, the rates chosen, and the sensitivity."""
    keys, chosen = _keys(rates), rates.chosen >= 0  # (G, S)
    cell = np.take_along_axis(rates.cells, np.maximum(rates.chosen, 0), axis=1)
    names = frames.cells["cell"].to_numpy(dtype=object)[cell.ravel()]
    wanted = pd.MultiIndex.from_arrays([names, keys["seed"]])
    parts: list[pd.DataFrame] = []
    for metric in taken:
        rows = frames.metrics[frames.metrics["metric"] == metric]
        at = pd.MultiIndex.from_frame(rows[["cell", "seed"]]).get_indexer(wanted)
        known = (at >= 0) & chosen.ravel()
        values = rows["value"].to_numpy(dtype=np.float64)[at[known]]
        parts.append(keys[known].assign(metric=at_best_rate(metric), value=values))
    numbers = np.array([float(rate) for rate in rates.rates])
    sensitivity = rates.sensitivity.ravel()
    for metric, values, known in (
        (BEST_RATE, numbers[rates.chosen].ravel(), chosen.ravel()),
        (SENSITIVITY, sensitivity, np.isfinite(sensitivity)),
    ):
        parts.append(keys[known].assign(metric=metric, value=values[known]))
    return pd.concat(parts, ignore_index=True)


def _info(frames: Frames, rates: BestRates, taken: list[str]) -> pd.DataFrame:
    """What these metrics are; those at the best rate are compared as the metric itself is."""
    how = "that seed itself, which flatters" if rates.optimistic else "the other seeds"
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    own = info.loc[info["metric"].isin(taken), _INFO]
    own = own.assign(
        metric=[at_best_rate(metric) for metric in own["metric"]],
        measure=AT_BEST_RATE,
        summary=[f"At its own best learning rate: {summary}" for summary in own["summary"]],
        convention=f"for each seed a setting's rate is chosen by the {FINAL_LOSS} of {how}",
    )
    more = pd.DataFrame(
        [
            (BEST_RATE, "metric", AT_BEST_RATE, "learning rate", "neither", "log", False,
             "The learning rate that was chosen.", ""),
            (SENSITIVITY, "metric", OVER_RATES, "nats", "lower", "linear", False,
             "How much worse the mean over learning rates is than the best of them.",
             f"of {FINAL_LOSS}; a trial that diverged counts as its loss at initialization"),
        ],
        columns=_INFO,
    )  # fmt: skip
    both = pd.concat([own, more], ignore_index=True)
    return both.assign(exact=False, defined_when_diverged=both["metric"] == BEST_RATE)


_INFO = [
    *("metric", "form", "measure", "unit", "better", "scale", "primary", "summary", "convention"),
]
