"""What is drawn of the loss over training: a line a cell, or a trial where its seeds end apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from reports.frames import Frames
from reports.training.arrangement import Arrangement, arrange, level_of, present_levels
from reports.training.names import FREQUENCY_LOSS, LEARNING_RATE, LOSS_CURVE
from reports.training.outcomes import RAN, learning_rates, outcomes

MAX_ROWS, MAX_COLUMNS, MAX_HUES = 6, 6, 40
MAX_POINTS = 60
"""Points of a line; of a longer one each is the mean over several steps."""

_ALL_POINTS, _LEAST_POINTS = 12_000, 20  # of a figure, and of a line whatever the others take


@dataclass(frozen=True, kw_only=True)
class LossLines:
    """What `reports.plots.loss_curves` draws.

    Attributes:
        lines: A row for each line: ``line`` (its number), ``row``, ``column``, ``hue`` (levels),
            ``state`` (how it ended), ``cell`` (its row in ``frames.cells``), ``seed`` (-1 for a
            mean over several), ``n`` (trials), ``end`` and ``last`` (its last step and loss; NaN
            for a trial that diverged before any finite loss).
        points: ``line``, ``x`` (step), ``mean``, ``low`` and ``high`` (over the seeds).
        arrangement: What tells the lines apart; ``column`` is the learning rate where that varies.
        rows: The levels told by rows in order; likewise ``columns`` and ``hues``.
        unit: Of the loss.
        counts: Trials by state.
        n_undrawn: Trials that ran and left no curve although they did not diverge.
        n_apart: Cells whose trials are drawn one by one.
        n_averaged: Neighbouring recorded steps in a point.
        frequencies: By row and column of a panel, what frequencies alone cost there; the mean over
            its trials.
    """

    lines: pd.DataFrame
    points: pd.DataFrame
    arrangement: Arrangement
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    hues: tuple[str, ...]
    unit: str
    counts: "pd.Series[int]"
    n_undrawn: int
    n_apart: int
    n_averaged: int
    frequencies: Mapping[tuple[str, str], float]


def loss_lines(frames: Frames, ranking: Sequence[str]) -> LossLines | None:
    """The training loss by step, or None where no trial left a finite one.

    A cell whose trials all learnt or all stalled is a line: their mean. Where they end differently,
    or one is missing, each trial is a line of its own, so that no line is a mean of survivors. A
    diverged trial is drawn up to its last finite loss.

    Args:
        frames: The run.
        ranking: Factors, the most influential first.
    """
    info = frames.metric_info
    about = info[(info["metric"] == LOSS_CURVE) & (info["form"] == "profile")]
    trials = outcomes(frames)
    trials = trials[trials["state"] != "skipped"].reset_index(drop=True)
    curves = _finite_curves(frames, trials)
    if about.empty or curves.empty:
        return None
    trials = _with_lines(trials.join(_ends(curves)))
    cells = frames.cells.iloc[trials["cell"]].reset_index(drop=True)
    arrangement = _arranged(cells, ranking)
    places = {key: arrangement.told.get(key, "") for key in ("row", "column", "hue")}
    levels = {key: present_levels(frames, cells, factor) for key, factor in places.items()}
    if arrangement.column == LEARNING_RATE:
        levels["column"] = [rate for rate in learning_rates(frames) if rate in levels["column"]]
    named = trials.assign(**{key: level_of(cells, factor) for key, factor in places.items()})
    lines = (
        named[named["line"] >= 0]
        .groupby("line", as_index=False)
        .agg(
            **{key: (key, "first") for key in (*places, "state", "cell")},
            seed=("seed", lambda seeds: seeds.iloc[0] if len(seeds) == 1 else -1),
            n=("seed", "size"),
            end=("end", "max"),
            last=("last", "mean"),
        )
    )
    n_averaged = _n_averaged(curves, len(lines))
    apart = trials[trials["apart"] & (trials["line"] >= 0)]
    return LossLines(
        lines=lines,
        points=_points(curves.assign(line=curves["trial"].map(trials["line"])), n_averaged),
        arrangement=arrangement,
        rows=tuple(levels["row"]),
        columns=tuple(levels["column"]),
        hues=tuple(levels["hue"]),
        unit=str(about["unit"].iloc[0]),
        counts=trials["state"].value_counts(),
        n_undrawn=int((trials["state"].isin(RAN) & (trials["line"] < 0)).sum()),
        n_apart=int(apart["cell"].nunique()),
        n_averaged=n_averaged,
        frequencies=_frequencies(frames, named),
    )


def _finite_curves(frames: Frames, trials: pd.DataFrame) -> pd.DataFrame:
    """The losses of trials that ran: ``trial`` (its row in ``trials``), ``step``, ``value``.

    Each ends before its first value that is not finite.
    """
    rows = frames.profiles[frames.profiles["profile"] == LOSS_CURVE]
    place = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(rows["cell"]))
    found = pd.DataFrame(
        {
            "cell": place,
            "seed": rows["seed"].to_numpy(dtype=np.int64),
            "step": rows["step"].to_numpy(dtype=np.int64),
            "value": rows["value"].to_numpy(dtype=np.float64),
        }
    )
    ran = trials.loc[trials["state"].isin(RAN), ["cell", "seed"]].reset_index(names="trial")
    found = found.merge(ran, on=["cell", "seed"]).sort_values(["trial", "step"], kind="stable")
    lost = (~np.isfinite(found["value"])).groupby(found["trial"]).cumsum() > 0
    return found.loc[~lost, ["trial", "step", "value"]].reset_index(drop=True)


def _ends(curves: pd.DataFrame) -> pd.DataFrame:
    """By trial: ``end`` and ``last``, its last step and loss, and ``n_steps``."""
    return curves.groupby("trial").agg(
        end=("step", "last"), last=("value", "last"), n_steps=("step", "size")
    )


def _with_lines(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials with the number of their ``line`` (-1: none), and whether it is ``apart``."""
    alike = trials.groupby("cell")[["state", "end", "n_steps"]].nunique(dropna=False).max(axis=1)
    whole = trials["cell"].map(alike == 1) & trials["state"].isin(["learnt", "stalled"])
    drawn = trials["state"].isin(RAN) & (trials["end"].notna() | (trials["state"] == "diverged"))
    key = pd.MultiIndex.from_arrays([trials["cell"], trials["seed"].where(~whole, -1)])
    line = np.full(len(trials), -1)
    line[drawn] = pd.factorize(key[drawn])[0]
    return trials.assign(line=line, apart=~whole)


def _arranged(cells: pd.DataFrame, ranking: Sequence[str]) -> Arrangement:
    """Rates by columns if they vary, and of the other factors the last one told by colour."""
    by_rate = LEARNING_RATE in cells and cells[LEARNING_RATE].nunique() > 1
    n_others = sum(cells[f].nunique() > 1 for f in ranking if f != LEARNING_RATE)
    slots = {"row": MAX_ROWS, "column": MAX_COLUMNS, "hue": MAX_HUES}
    if by_rate or n_others < 3:
        del slots["column" if by_rate else "row"]
    if n_others < 2:
        slots = {"hue": MAX_HUES}
    found = arrange(cells, ranking, slots)
    return replace(found, column=LEARNING_RATE) if by_rate else found


def _frequencies(frames: Frames, trials: pd.DataFrame) -> dict[tuple[str, str], float]:
    """By panel, where it was measured."""
    measured = frames.metrics[frames.metrics["metric"] == FREQUENCY_LOSS]
    place = pd.Index(frames.cells["cell"]).get_indexer(pd.Index(measured["cell"]))
    values = measured.assign(cell=place).merge(trials, on=["cell", "seed"])
    values = values[np.isfinite(values["value"])]
    return {
        (str(row), str(column)): float(mean)
        for (row, column), mean in values.groupby(["row", "column"])["value"].mean().items()
    }


def _n_averaged(curves: pd.DataFrame, n_lines: int) -> int:
    """How many neighbouring steps become a point."""
    n_points = int(np.clip(_ALL_POINTS // n_lines, _LEAST_POINTS, MAX_POINTS))
    return int(-(-curves["step"].nunique() // n_points))


def _points(curves: pd.DataFrame, n_averaged: int) -> pd.DataFrame:
    """Means over neighbouring steps and then over the trials of a line, with the range of these."""
    group = np.searchsorted(np.unique(curves["step"]), curves["step"]) // n_averaged
    means = curves.assign(group=group).groupby(["line", "trial", "group"], as_index=False).mean()
    return (
        means.groupby(["line", "group"])
        .agg(
            x=("step", "mean"), mean=("value", "mean"), low=("value", "min"), high=("value", "max")
        )
        .reset_index()
        .drop(columns="group")
    )
