"""Effects in sentences, never stronger than the data."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.effects import comparisons
from reports.frames import Frames
from reports.leading import leading
from reports.ranking import (
    beyond_noise,
    budget_change,
    depends_on_others,
    has_survivors_only,
    importance,
)
from reports.records import records
from reports.sentences import cancels, claim_of, contrast, dropped, support_of
from reports.wording import PERCENT, change, counted, listed, short

MOST, DEPENDS, EFFECT = "most", "depends", "effect"
UNDECIDED, NOISE, EXPLORATORY = "undecided", "noise", "exploratory"
"""Kinds of finding: what leads on a metric, an effect that cancels on average but depends on the
other factors, a shown effect, no conclusion from the data at hand, effects inside seed noise, and
what the metrics not declared primary say together."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim, what supports it, and the figures; a figure that it does not have is None.

    ``estimate``, ``low`` and ``high`` are as in the table of effects: a ratio or a difference.
    """

    kind: str
    claim: str
    support: str = ""
    metric: str | None = None
    factor: str | None = None
    level: str | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_pairs: int | None = None
    n_seeds: int | None = None
    n_dropped: int | None = None

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.claim} ({self.support})." if self.support else f"{self.claim}."


def state_findings(frames: Frames, effects: pd.DataFrame | None = None) -> list[Finding]:
    """What a run shows about its primary metrics, largest effects first.

    For each metric: which factor leads; then effects that depend on the other factors so that none
    is left on average; then the other shown effects, all ordered by size; then what cannot be
    concluded, what lies inside seed noise, and a count of exploratory effects.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it, if already computed.
    """
    table = comparisons(frames) if effects is None else effects
    table = table.assign(
        shown=beyond_noise(table), depends=depends_on_others(table), weight=importance(table)
    )
    primary = table[table["primary"]].sort_values("weight", ascending=False, kind="stable")
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    units = dict(zip(info["metric"], info["unit"], strict=True))
    budget = budget_change(table)

    found: list[Finding] = []
    leaders = set()
    for metric, rows in primary.groupby("metric", sort=False):
        lead = leading(rows)
        if lead is not None:
            first, words = lead
            claim = f"{metric}: {words}; {claim_of(first, units, budget)}"
            found.append(_finding(first, MOST, claim, support_of(first, budget)))
            leaders.add(first.Index)
    found += [
        _finding(row, DEPENDS, f"{row.metric}: {cancels(row, units)}", support_of(row, budget))
        for row in records(primary[primary["depends"] & ~primary["shown"]])
    ]
    found += [
        _finding(
            row, EFFECT, f"{row.metric}: {claim_of(row, units, budget)}", support_of(row, budget)
        )
        for row in records(primary[primary["shown"]])
        if row.Index not in leaders
    ]
    return [*found, *_undecided(primary, units), *_noise(primary), *_exploratory(table)]


def _undecided(primary: pd.DataFrame, units: dict[str, str]) -> Iterator[Finding]:
    """Rows without a conclusion: no pairs, one seed, or trials lost on the way."""
    survivors = has_survivors_only(primary)
    for row in records(primary[survivors]):
        text = f"{row.metric}: no conclusion is drawn about {contrast(row)}, as {dropped(row)}"
        if row.n_pairs and math.isfinite(row.estimate):
            text += (
                f". Among the survivors alone: {change(row.estimate, row.scale)}, "
                "which is not a finding"
            )
        yield _finding(row, UNDECIDED, text)
    alone = primary[~survivors & (primary["n_pairs"] == 0)]
    for metric, rows in alone.groupby("metric", sort=False):
        names = [f"{short(row.factor)} = {short(row.level)}" for row in records(rows)]
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
        yield _finding(
            row, UNDECIDED, f"{row.metric}: {claim_of(row, units, {})}", support_of(row, {})
        )


def _noise(primary: pd.DataFrame) -> Iterator[Finding]:
    """One sentence a metric for what lies inside noise, one for what does not move at all."""
    inside = primary["within_noise"].fillna(False).astype(bool) & ~has_survivors_only(primary)
    for metric, rows in primary[inside & ~primary["depends"]].groupby("metric", sort=False):
        for group, said in (
            (rows[rows["unchanged"]], "unchanged in every pair and seed by"),
            (rows[~rows["unchanged"]], "inside seed noise, no effect is shown of"),
        ):
            if len(group):
                names = [f"{short(row.factor)} = {short(row.level)}" for row in records(group)]
                seeds = counted(int(group["n_seeds"].min()), "seed")
                n_dropped = int(group["n_dropped"].sum())
                lost = f"; {n_dropped:,} paired observations not used" if n_dropped else ""
                yield Finding(
                    kind=NOISE,
                    claim=f"{metric}: {said} {listed(names)}",
                    support=f"{seeds}{lost}",
                    metric=str(metric),
                    n_dropped=n_dropped,
                )


def _exploratory(table: pd.DataFrame) -> Iterator[Finding]:
    rest = table[~table["primary"] & ~table["exact"] & table["within_noise"].notna()]
    if len(rest):
        metrics = counted(rest["metric"].nunique(), "further metric")
        yield Finding(
            kind=EXPLORATORY,
            claim=(
                f"Exploratory: {int(rest['shown'].sum()):,} of {counted(len(rest), 'effect')} on "
                f"{metrics} lie outside noise, and {int(rest['depends'].sum()):,} depend on the "
                "other factors"
            ),
            support=f"false discovery rate 5{PERCENT}; the table of effects has them",
        )


def _finding(row: Any, kind: str, claim: str, support: str = "") -> Finding:
    def finite(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return Finding(
        kind=kind,
        claim=claim,
        support=support,
        metric=row.metric,
        factor=row.factor,
        level=row.level,
        estimate=finite(row.estimate),
        low=finite(row.low),
        high=finite(row.high),
        n_pairs=int(row.n_pairs),
        n_seeds=int(row.n_seeds),
        n_dropped=int(row.n_dropped),
    )
