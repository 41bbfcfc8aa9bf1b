"""Effects in sentences, never stronger than the data."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports.effects import comparisons
from reports.frames import Frames
from reports.ranking import (
    BUDGET,
    beyond_noise,
    budget_change,
    has_survivors_only,
    size,
    size_bounds,
)
from reports.records import records
from reports.wording import PERCENT, bounds, change, counted, listed, percent, short

MOST, EFFECT, NOISE, UNDECIDED, EXPLORATORY = "most", "effect", "noise", "undecided", "exploratory"
"""Kinds of finding: what matters most for a metric, a shown effect, effects inside seed noise, no
conclusion from the data at hand, and what the metrics not declared primary say together."""


_MOST_SHARE = 10.0

_CAUSES = {
    "n_diverged": "diverged",
    "n_failed": "failed",
    "n_marked": "with a cancelled probe",
    "n_skipped": "skipped",
    "n_not_run": "not run yet",
    "n_no_value": "without a usable value",
}


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

    For each metric: which factor matters most, then the other shown effects, all ordered by size;
    then what cannot be concluded, what lies inside seed noise, and a count of exploratory effects.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it, if already computed.
    """
    table = comparisons(frames) if effects is None else effects
    table = table.assign(size=size(table), shown=beyond_noise(table))
    primary = table[table["primary"]].sort_values("size", ascending=False, kind="stable")
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    units = dict(zip(info["metric"], info["unit"], strict=True))
    budget = budget_change(table)

    shown = primary[primary["shown"]]
    by_metric = [rows for _, rows in shown.groupby("metric", sort=False)]
    found = [_most(rows, primary, units, budget) for rows in by_metric]
    leaders = {rows.index[0] for rows in by_metric}
    found += [
        _finding(row, EFFECT, f"{row.metric}: {_claim(row, units, budget)}", _support(row))
        for row in records(shown)
        if row.Index not in leaders
    ]
    return [*found, *_undecided(primary, units), *_noise(primary), *_exploratory(table)]


def _most(
    rows: pd.DataFrame,
    primary: pd.DataFrame,
    units: dict[str, str],
    budget: dict[tuple[str, str], float],
) -> Finding:
    """The lead for one metric; ``rows`` are its shown effects, the largest first."""
    first = next(records(rows))
    factor = short(first.factor)
    lead = f"{factor} matters most"
    rivals = rows[rows["factor"] != first.factor]
    if len(rivals):
        smallest = size_bounds(rows.iloc[:1])[0][0]
        largest = size_bounds(rivals)[1]
        close = list(dict.fromkeys(rivals.loc[largest >= smallest, "factor"]))
        if close:
            lead = (
                f"{factor} has the largest effect, though its interval overlaps with that of "
                f"{listed([short(name) for name in close])}"
            )
    open_rows = primary[(primary["metric"] == first.metric) & has_survivors_only(primary)]
    factors = list(dict.fromkeys(open_rows["factor"]))
    if factors:
        names = listed([short(name) for name in factors])
        lead += f" among the factors that can be judged (not {names}: trials were lost)"
    claim = f"{first.metric}: {lead}; {_claim(first, units, budget)}"
    return _finding(first, MOST, claim, _support(first))


def _claim(row: Any, units: dict[str, str], budget: dict[tuple[str, str], float]) -> str:
    """Direction and size, and the parameters beside them."""
    if row.scale == "log":
        said = change(row.estimate, "log")
        verb = f"makes it {said} as large" if said.endswith("times") else f"changes it by {said}"
    else:
        unit = f" {units[row.metric]}" if units.get(row.metric) else ""
        verb = f"changes it by {change(row.estimate, 'linear')}{unit}"
        # Beside a mean close to zero a percentage says nothing.
        if 0 < abs(row.estimate) < _MOST_SHARE * row.reference_mean:
            less_more = "more" if row.estimate > 0 else "less"
            verb += f", {_share(row.estimate / row.reference_mean)} {less_more}"
    extra = budget.get((row.factor, row.level), 0.0)
    if extra and row.metric != BUDGET:
        verb += f", with {_share(extra)} {'more' if extra > 0 else 'fewer'} parameters"
    return f"{_contrast(row)} {verb}"


def _share(share: float) -> str:
    return percent(abs(share)) if abs(share) >= 1e-4 else f"under 0.01{PERCENT}"


def _contrast(row: Any) -> str:
    return f"{short(row.factor)} = {short(row.level)} instead of {short(row.reference)}"


def _support(row: Any) -> str:
    n = f"{counted(row.n_pairs, 'pair')}, {counted(row.n_seeds, 'seed')}"
    if row.exact:
        parts = [f"exact, no seed changes it; mean of {n}"]
    elif row.n_seeds == 1:
        parts = [n, "one seed: no interval can be given"]
    else:
        parts = [f"adjusted 95{PERCENT} interval {bounds(row.low, row.high, row.scale)}", n]
    if row.n_pairs > 1:
        same = "every pair" if row.same_sign == 1 else f"{percent(row.same_sign)} of the pairs"
        parts.append(f"same direction in {same}")
    if row.n_dropped:
        parts.append(_dropped(row))
    return "; ".join(parts)


def _dropped(row: Any) -> str:
    """How many observations are not in a figure, and why."""
    counts = {words: int(getattr(row, column)) for column, words in _CAUSES.items()}
    causes = [f"{n:,} {words}" for words, n in counts.items() if n]
    alone = row.n_dropped - sum(counts.values())
    if alone:
        causes.append(f"{alone:,} without their partner in another seed")
    total = row.n_dropped + row.n_pairs * row.n_seeds
    return (
        f"{row.n_dropped:,} of {counted(total, 'paired observation')} "
        f"{'is' if row.n_dropped == 1 else 'are'} not used: {listed(causes)}"
    )


def _undecided(primary: pd.DataFrame, units: dict[str, str]) -> Iterator[Finding]:
    """Rows without a conclusion: no pairs, one seed, or trials lost on the way."""
    survivors = has_survivors_only(primary)
    for row in records(primary[survivors]):
        text = f"{row.metric}: no conclusion is drawn about {_contrast(row)}, as {_dropped(row)}"
        if row.n_pairs and math.isfinite(row.estimate):
            text += (
                f". Among the survivors alone: {change(row.estimate, row.scale)}, "
                "which is not a finding"
            )
        yield _finding(row, UNDECIDED, text)
    alone = primary[~survivors & (primary["n_pairs"] == 0)]
    for metric, rows in alone.groupby("metric", sort=False):
        names = [f"{short(row.factor)} = {short(row.level)}" for row in records(rows)]
        dropped = rows.filter(regex="^n_").sum()
        why = _dropped(dropped) if dropped["n_dropped"] else "no two cells differ in it alone"
        yield Finding(
            kind=UNDECIDED,
            claim=f"{metric}: nothing is said about {listed(names)}, as {why}",
            metric=str(metric),
            n_dropped=int(dropped["n_dropped"]),
        )
    single = primary[~survivors & (primary["n_pairs"] > 0) & primary["within_noise"].isna()]
    for row in records(single):
        yield _finding(row, UNDECIDED, f"{row.metric}: {_claim(row, units, {})}", _support(row))


def _noise(primary: pd.DataFrame) -> Iterator[Finding]:
    """One sentence a metric for what lies inside noise, one for what does not move at all."""
    inside = primary["within_noise"].fillna(False).astype(bool) & ~has_survivors_only(primary)
    for metric, rows in primary[inside].groupby("metric", sort=False):
        none = np.where(rows["scale"] == "log", 1.0, 0.0)
        still = (rows["low"] == none) & (rows["high"] == none) & (rows["same_sign"] == 1)
        for group, said in (
            (rows[still], "unchanged in every pair and seed by"),
            (rows[~still & rows["exact"]], "no change on average (exact, though pairs differ) by"),
            (rows[~still & ~rows["exact"]], "inside seed noise, no effect is shown of"),
        ):
            if len(group):
                names = [f"{short(row.factor)} = {short(row.level)}" for row in records(group)]
                seeds = counted(int(group["n_seeds"].min()), "seed")
                dropped = int(group["n_dropped"].sum())
                lost = f"; {dropped:,} paired observations not used" if dropped else ""
                yield Finding(
                    kind=NOISE,
                    claim=f"{metric}: {said} {listed(names)}",
                    support=f"{seeds}{lost}",
                    metric=str(metric),
                    n_dropped=dropped,
                )


def _exploratory(table: pd.DataFrame) -> Iterator[Finding]:
    rest = table[~table["primary"] & ~table["exact"] & table["within_noise"].notna()]
    if len(rest):
        metrics = counted(rest["metric"].nunique(), "further metric")
        yield Finding(
            kind=EXPLORATORY,
            claim=(
                f"Exploratory: {int(rest['shown'].sum()):,} of {counted(len(rest), 'effect')} on "
                f"{metrics} lie outside noise"
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
