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

MAX_LINES = 600
"""Lines of a figure; trials of more are taken together by how they ended."""

MAX_DIVERGED = 3
"""Diverged trials of a panel and colour that are then drawn: of those no mean is one of all."""

_ALL_POINTS, _LEAST_POINTS = 12_000, 20  # of a figure, and of a line whatever the others take
_BAND = (0.1, 0.9)  # quantiles of the trials that are taken together


@dataclass(frozen=True, kw_only=True)
class LossLines:
    """What `reports.plots.loss_curves` draws.

    Attributes:
        lines: A row for each line: ``line`` (its number), ``row``, ``column``, ``hue`` (levels),
            ``state`` (how it ended), ``cell`` (its row in ``frames.cells``; -1 for a mean over
            several), ``seed`` (likewise), ``n`` (trials), ``end`` and ``last`` (its last step and
            loss; NaN for a trial that diverged before any finite loss).
        points: ``line``, ``x`` (step), ``mean``, ``low`` and ``high`` (over the seeds; of trials
            taken together their 10th and 90th percentile).
        arrangement: What tells the lines apart; ``column`` is the learning rate where that varies.
        rows: The levels told by rows in order; likewise ``columns`` and ``hues``.
        unit: Of the loss.
        counts: Trials by state.
        n_undrawn: Trials that ran and left no curve although they did not diverge.
        n_apart: Cells whose trials are drawn one by one.
        together: Whether a line is the mean of all trials of a panel and colour that ended alike.
        n_left_out: Diverged trials that are then not drawn.
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
    together: bool
    n_left_out: int
    n_averaged: int
    frequencies: Mapping[tuple[str, str], float]


def loss_lines(frames: Frames, ranking: Sequence[str]) -> LossLines | None:
    """The training loss by step, or None where no trial left a finite one.

    A cell whose trials all learnt or all stalled is a line: their mean. Where they end differently,
    or one is missing, each trial is a line of its own, so that no line is a mean of survivors. A
    diverged trial is drawn up to its last finite loss. Where that makes more than `MAX_LINES`, a
    line is the mean over the trials of a panel and colour that all learnt, or that all stalled.

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
    together = int(named["line"].max()) >= MAX_LINES
    n_left_out = 0
    if together:
        n_drawn = int((named["line"] >= 0).sum())
        named = named.assign(line=_together(named))
        n_left_out = n_drawn - int((named["line"] >= 0).sum())
    grouped = named[named["line"] >= 0].groupby("line", as_index=False)
    lines = grouped.agg(
        **{key: (key, "first") for key in (*places, "state", "cell")},
        cells=("cell", "nunique"),
        seed=("seed", "first"),
        n=("seed", "size"),
        end=("end", "max"),
        last=("last", "mean"),
    )
    lines["seed"] = lines["seed"].where(lines["n"] == 1, -1)
    lines["cell"] = lines["cell"].where(lines.pop("cells") == 1, -1)
    n_averaged = _n_averaged(curves, len(lines))
    apart = trials[trials["apart"] & (trials["line"] >= 0)]
    return LossLines(
        lines=lines,
        points=_points(
            curves.assign(line=curves["trial"].map(named["line"])), n_averaged, together=together
        ),
        arrangement=arrangement,
        rows=tuple(levels["row"]),
        columns=tuple(levels["column"]),
        hues=tuple(levels["hue"]),
        unit=str(about["unit"].iloc[0]),
        counts=trials["state"].value_counts(),
        n_undrawn=int((trials["state"].isin(RAN) & (trials["line"] < 0)).sum()),
        n_apart=int(apart["cell"].nunique()),
        together=together,
        n_left_out=n_left_out,
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


def _together(trials: pd.DataFrame) -> "pd.Series[int]":
    """The number of each trial's line where those that ended alike are taken together; -1: none.

    Of the diverged ones of a panel and colour the first few are lines of their own.
    """
    drawn = trials["line"] >= 0
    group = ["row", "column", "hue", "state"]
    place = trials[drawn].groupby(group, sort=False).cumcount().reindex(trials.index)
    diverged = trials["state"] == "diverged"
    drawn &= ~diverged | (place < MAX_DIVERGED)
    key = pd.MultiIndex.from_frame(trials[group].assign(own=place.where(diverged, -1))[drawn])
    line = pd.Series(-1, index=trials.index)
    line[drawn] = pd.factorize(key)[0]
    return line


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


def _points(curves: pd.DataFrame, n_averaged: int, *, together: bool) -> pd.DataFrame:
    """Means over neighbouring steps and then over the trials of a line, with the range of these."""
    group = np.searchsorted(np.unique(curves["step"]), curves["step"]) // n_averaged
    drawn = curves.assign(group=group)[curves["line"] >= 0]
    means = drawn.groupby(["line", "trial", "group"], as_index=False).mean()
    grouped = means.groupby(["line", "group"])
    points = grouped.agg(
        x=("step", "mean"), mean=("value", "mean"), low=("value", "min"), high=("value", "max")
    )
    if together:
        low, high = (grouped["value"].quantile(share) for share in _BAND)
        points = points.assign(low=low, high=high)
    return points.reset_index().drop(columns="group")
