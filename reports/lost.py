"""Findings about effects that lost trials on the way: nothing is concluded from what survived."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from reports.finding import UNDECIDED, Finding, finding_of
from reports.frames import Frames
from reports.pairs import told_levels
from reports.panel import REASONS, Panel
from reports.records import records
from reports.sentences import contrast, dropped, level_names, ranked_last
from reports.wording import change, counted, listed, short

MAX_APART = 2
"""Effects of a metric that are told one by one; more are one sentence."""

_LABEL = 120  # characters of a cell's label


def lost_effects(frames: Frames, data: Panel, rows: pd.DataFrame) -> Iterator[Finding]:
    """What is said of a metric's effects without a conclusion.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        rows: Those of one metric in `reports.effects.comparisons` from which trials dropped out.
    """
    if len(rows) > MAX_APART:
        metric = str(rows["metric"].iloc[0])
        names = [f"{short(row.factor)} = {level_names(row)[0]}" for row in records(rows)]
        yield Finding(
            kind=UNDECIDED,
            claim=(
                f"{metric}: no conclusion is drawn about {counted(len(names), 'effect')} "
                f"({listed(sorted(names))}), as {lost_trials(frames, data, metric)}"
            ),
            support="the table of effects has what the survivors alone say, which is no finding",
            metric=metric,
            n_dropped=int(rows["n_dropped"].sum()),
        )
        return
    for row in records(rows):
        text = f"{row.metric}: no conclusion is drawn about {contrast(row)}, as {dropped(row)}"
        if row.n_pairs and math.isfinite(row.estimate):
            text += (
                f". Among the survivors alone: {change(row.estimate, row.scale)}, "
                "which is not a finding"
            )
        ranked = ranked_last(row)
        text += f"; {ranked}" if ranked else ""
        yield finding_of(row, UNDECIDED, text)


def lost_trials(frames: Frames, data: Panel, metric: str) -> str:
    """How many trials are lost to a metric, why, and the levels that all of them share."""
    index = data.info["metric"].to_list().index(metric)
    reason = data.reason[index]  # (C, S)
    lost = reason >= REASONS.index("no value")
    measure = data.info["measure"].iloc[index]
    ended = frames.trials[frames.trials["measure"] == measure].set_index(["cell", "seed"])["state"]
    counts: dict[str, int] = {}
    for cell, seed in zip(*np.nonzero(lost), strict=True):
        said = _SAID.get(REASONS[reason[cell, seed]])
        if said is None:
            said = _STATES[ended[frames.cells["cell"].iloc[cell], data.seeds[seed]]]
        counts[said] = counts.get(said, 0) + 1
    told = [f"{counted(n, 'trial')} {said}" for said, n in sorted(counts.items())]
    return f"{listed(told)}, {_place(frames, lost.any(axis=1))}"


_SAID = {"no value": "gave no usable value", "diverged": "diverged"}
_STATES = {"failed": "failed", "crashed": "crashed", "timeout": "took too long"}


def _place(frames: Frames, cells: "np.ndarray") -> str:
    """The cells (C,) in which trials are lost, in words."""
    lost = frames.cells[cells]
    if len(lost) == 1:
        return f"in the cell {short(str(lost['label'].iloc[0]), _LABEL)}"
    shared = [
        f"{short(factor)} = {names[str(lost[factor].iloc[0])]}"
        for factor, names in told_levels(frames).items()
        if lost[factor].nunique() == 1 and frames.cells[factor].nunique() > 1
    ]
    return f"in {len(lost):,} of {counted(len(frames.cells), 'cell')}" + (
        f", all with {listed(shared)}" if shared else ""
    )
