"""Which factor leads on a metric, in words that hold whatever the baseline."""

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.ranking import (
    beyond_noise,
    depends_on_others,
    has_survivors_only,
    level_spans,
    position,
    size,
)
from reports.records import records
from reports.sentences import level_names, mixed
from reports.wording import listed, number, short, span


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The largest shown effect of the factor that leads, what may be said of that factor, and the
    factors that may matter as much."""

    row: Any
    words: str
    rivals: tuple[str, ...] = ()


def leading(rows: pd.DataFrame) -> Lead | None:
    """What leads on a metric.

    A factor "matters most" when its levels, the baseline among them, lie further apart than those
    of any other may, all intervals considered; when no other factor's effect reaches further inside
    it; and when its own has one direction. A single factor leads nothing. Factors that cannot be
    judged are named.

    Args:
        rows: All rows of one metric in `reports.effects.comparisons`.

    Returns:
        None where nothing is shown.
    """
    shown = beyond_noise(rows)
    if not shown.any():
        return None
    rows = rows.assign(size=size(rows)).sort_values("size", ascending=False, kind="stable")
    shown = shown.loc[rows.index]
    spans = level_spans(rows)
    factor = spans.loc[list(dict.fromkeys(rows.loc[shown, "factor"])), "span"].idxmax()
    first = next(records(rows[shown & (rows["factor"] == factor)]))
    others = spans.drop(index=factor)
    close = others.index[others["most"] >= spans.loc[factor, "least"]]
    further = _further(rows, factor, spans.loc[factor, "span"])
    both_ways = mixed(first)

    name = short(first.factor)
    if len(spans) == 1:
        return Lead(row=first, words=_unjudged(rows).removeprefix(", "))
    if not (len(close) or further or both_ways):
        lead = f"{name} matters most"
    else:
        caveats = []
        if len(close):
            those = "that" if len(close) == 1 else "those"
            caveats.append(f"{those} of {listed([short(f) for f in close])} may be as large")
        if further:
            caveats.append(listed(list(further.values()), limit=4))
        # A lead in both directions needs no caveat here: its claim goes on to say so.
        mean = "mean" if further or both_ways else "shown"
        lead = f"{name} has the largest {mean} effect"
        lead += f", though {' and '.join(caveats)}" if caveats else ""
    words = lead + _apart(rows[shown & (rows["factor"] == factor)]) + _unjudged(rows)
    return Lead(row=first, words=words, rivals=tuple(dict.fromkeys([*close, *further])))


def _further(rows: pd.DataFrame, leader: str, limit: float) -> dict[str, str]:
    """The other factors of which more is shown inside than the leader's levels lie apart."""
    rows = rows.assign(reach=position(rows, "shown_high") - position(rows, "shown_low"))
    rows = rows[depends_on_others(rows) & (rows["factor"] != leader) & (rows["reach"] > limit)]
    rows = rows.sort_values("reach", ascending=False, kind="stable")
    return {
        row.factor: f"that of {short(row.factor)} goes "
        f"{span(row.shown_low, row.shown_high, row.scale)} "
        f"{f'by {short(row.varies_with)}' if row.varies_with else 'over the pairs'}"
        for row in records(rows.drop_duplicates("factor"))
    }


def _apart(rows: pd.DataFrame) -> str:
    """How far apart shown levels lie on both sides of the baseline; nothing if all on one side."""
    log = rows["scale"].iloc[0] == "log"
    middle = position(rows, "estimate")
    if not middle.min() < 0 < middle.max():
        return ""
    high, low = float(rows["estimate"].max()), float(rows["estimate"].min())
    apart = high / low if log else high - low
    if not math.isfinite(apart):
        return ""
    return f" (its levels lie up to {number(apart)}{' times' if log else ''} apart)"


def _unjudged(rows: pd.DataFrame) -> str:
    """Factors, or single levels of them, of which nothing can be said, with the reason."""
    lost = has_survivors_only(rows)
    none = ~lost & (rows["n_pairs"] == 0)
    unknown = ~lost & ~none & rows["within_noise"].isna()
    told = []
    for group, why in (
        (lost, "trials were lost"),
        (none, "no pair to compare"),
        (unknown & (rows["n_seeds"] == 1), "one seed only"),
        (unknown & (rows["n_seeds"] > 1), "seeds agree"),
    ):
        names = []
        for factor in dict.fromkeys(rows.loc[group, "factor"]):
            here = rows["factor"] == factor
            if group[here].all():
                names.append(short(str(factor)))
            else:
                levels = sorted(level_names(row)[0] for row in records(rows[group & here]))
                names += [f"{short(str(factor))} = {level}" for level in levels]
        if names:
            told.append(f"not {listed(names)}: {why}")
    return f", among what can be judged ({'; '.join(told)})" if told else ""
