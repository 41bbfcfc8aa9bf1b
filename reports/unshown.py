"""Findings about what is not shown, and a count of what is merely exploratory.

Tables are those of `reports.effects.comparisons` and `reports.interactions` without the placebo,
with ``shown`` and ``depends`` as `reports.findings` assigns them.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from reports.cautions import Cautions
from reports.finding import EXPLORATORY, NOISE, UNDECIDED, Finding, finding_of
from reports.frames import Frames
from reports.lost import lost_effects
from reports.panel import Panel
from reports.ranking import has_survivors_only
from reports.records import records
from reports.sentences import causes, dropped, level_names, seen, support_of
from reports.wording import PERCENT, counted, listed, short


def undecided(
    frames: Frames, data: Panel, primary: pd.DataFrame, units: dict[str, str], beside: Cautions
) -> Iterator[Finding]:
    """Rows without a conclusion: no pairs, one seed, or trials lost on the way."""
    survivors = has_survivors_only(primary)
    for _, rows in primary[survivors].groupby("metric", sort=False):
        yield from lost_effects(frames, data, rows)
    alone = primary[~survivors & (primary["n_pairs"] == 0)]
    for metric, rows in alone.groupby("metric", sort=False):
        names = [_name(row, {}) for row in records(rows)]
        lost = rows.filter(regex="^n_").sum()
        why = dropped(lost) if lost["n_dropped"] else "no two cells differ in it alone"
        yield Finding(
            kind=UNDECIDED,
            claim=f"{metric}: nothing is said about {listed(names)}, as {why}",
            metric=str(metric),
            n_dropped=int(lost["n_dropped"]),
        )
    single = primary[~survivors & (primary["n_pairs"] > 0) & primary["within_noise"].isna()]
    for row in records(single):
        caution = beside.get((row.factor, row.level, row.metric))
        claim = f"{row.metric}: {seen(row, units)}{f'; {caution}' if caution else ''}"
        yield finding_of(row, UNDECIDED, claim, support_of(row, {}))


def noise(primary: pd.DataFrame, beside: Cautions) -> Iterator[Finding]:
    """One sentence a metric for what lies inside noise, one for what does not move at all."""
    inside = primary["within_noise"].fillna(False).astype(bool) & ~has_survivors_only(primary)
    for metric, rows in primary[inside & ~primary["depends"]].groupby("metric", sort=False):
        for group, said in (
            (rows[rows["unchanged"]], "unchanged in every pair and seed by"),
            (rows[~rows["unchanged"]], "inside seed noise, no effect is shown of"),
        ):
            if len(group):
                names = [_name(row, beside) for row in records(group)]
                seeds = counted(int(group["n_seeds"].min()), "seed")
                counts = group.filter(regex="^n_").sum()
                n_dropped = int(counts["n_dropped"])
                lost = ""
                if n_dropped:
                    unused = counted(n_dropped, "paired observation")
                    lost = f"; {unused} not used: {causes(counts)}"
                yield Finding(
                    kind=NOISE,
                    claim=f"{metric}: {said} {listed(names)}",
                    support=f"{seeds}{lost}",
                    metric=str(metric),
                    n_dropped=n_dropped,
                    exact=bool(group["exact"].all()),
                    levels=tuple(zip(group["factor"], group["level"], strict=True)),
                )


def _name(row: Any, beside: Cautions) -> str:
    """A level, and whether its figure is evidence."""
    caution = beside.get((row.factor, row.level, row.metric))
    return f"{short(row.factor)} = {level_names(row)[0]}{f' ({caution})' if caution else ''}"


def exploratory(real: pd.DataFrame, between: pd.DataFrame) -> Iterator[Finding]:
    """A count of what is shown on the metrics not declared primary."""
    rest, pairs_of = (
        table[~table["primary"] & ~table["exact"] & table["within_noise"].notna()]
        for table in (real, between)
    )
    if len(rest):
        metrics = counted(rest["metric"].nunique(), "further metric")
        told = f"{int(rest['shown'].sum()):,} of {counted(len(rest), 'effect')}"
        lie = "lies" if len(rest) == 1 and pairs_of.empty else "lie"
        if len(pairs_of):
            shown = int(pairs_of["shown"].sum())
            told += f" and {shown:,} of {counted(len(pairs_of), 'interaction')}"
        depend = ""
        if (rest["n_pairs"] > 1).any():  # a single pair says nothing of the others
            n_depend = int(rest["depends"].sum())
            depend = f", and {n_depend:,} of the effects depend on the other factors"
        yield Finding(
            kind=EXPLORATORY,
            claim=f"Exploratory: {told} on {metrics} {lie} outside noise{depend}",
            support=f"false discovery rate 5{PERCENT}; the table of effects has them",
        )
