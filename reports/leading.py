"""Which factor leads on a metric, in words that hold whatever the baseline."""

import math
from typing import Any

import pandas as pd

from reports.ranking import (
    beyond_noise,
    depends_on_others,
    has_survivors_only,
    level_spans,
    position,
    reach,
    size,
)
from reports.records import records
from reports.wording import listed, number, short, span


def leading(rows: pd.DataFrame) -> tuple[Any, str] | None:
    """The largest shown effect of the factor that leads, and what may be said of that factor.

    A factor "matters most" when its levels, the baseline among them, lie further apart than those
    of any other may, all intervals considered; when no other factor's effect reaches further over
    its pairs; and when its own has one direction. Factors that cannot be judged are named.

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
    further = _further(rows[rows["factor"] != factor], spans.loc[factor, "span"])
    none = 1.0 if first.scale == "log" else 0.0
    mixed = first.varies is not pd.NA and first.varies and first.pair_low < none < first.pair_high

    name = short(first.factor)
    if not (len(close) or further or mixed):
        lead = f"{name} matters most"
    else:
        caveats = []
        if len(close):
            those = "that" if len(close) == 1 else "those"
            caveats.append(f"{those} of {listed([short(f) for f in close])} may be as large")
        if further:
            caveats.append(f"over the pairs {further}")
        # A lead in both directions needs no caveat here: its claim goes on to say so.
        mean = "mean" if further or mixed else "shown"
        lead = f"{name} has the largest {mean} effect"
        lead += f", though {' and '.join(caveats)}" if caveats else ""
    return first, lead + _apart(rows[shown & (rows["factor"] == factor)]) + _unjudged(rows)


def _further(rivals: pd.DataFrame, limit: float) -> str:
    """The other factors that reach further over their pairs than the leader's levels lie apart."""
    rows = rivals[depends_on_others(rivals)]
    if rows.empty:
        return ""
    rows = rows.assign(reach=pd.Series(reach(rivals), index=rivals.index))
    rows = rows[rows["reach"] > limit].sort_values("reach", ascending=False, kind="stable")
    told = [
        f"{short(row.factor)} goes {span(row.pair_low, row.pair_high, row.scale)}"
        for row in records(rows.drop_duplicates("factor"))
    ]
    return listed(told, limit=4)


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
    alone = ~lost & ~none & rows["within_noise"].isna()
    told = []
    for group, why in (
        (lost, "trials were lost"),
        (none, "no pair to compare"),
        (alone, "one seed only"),
    ):
        names = []
        for factor in dict.fromkeys(rows.loc[group, "factor"]):
            here = rows["factor"] == factor
            if group[here].all():
                names.append(short(str(factor)))
            else:
                levels = sorted(rows.loc[group & here, "level"])
                names += [f"{short(str(factor))} = {short(level)}" for level in levels]
        if names:
            told.append(f"not {listed(names)}: {why}")
    return f", among what can be judged ({'; '.join(told)})" if told else ""
