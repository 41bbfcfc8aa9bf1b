"""The factor that changes nothing but the random draws: what noise alone makes of a comparison."""

from typing import Any

import pandas as pd

from reports.records import records
from reports.wording import bounds, change, counted, listed

PLACEBO = "placebo"
"""The name of that factor; its levels differ in their random stream alone."""

_NAMED = 4


def of_placebo(table: pd.DataFrame) -> "pd.Series[bool]":
    """Rows of effects or interactions in which the placebo takes part."""
    part = table["factor"] == PLACEBO
    return part | (table["factor_2"] == PLACEBO) if "factor_2" in table else part


def placebo_claim(effects: pd.DataFrame, units: dict[str, str]) -> tuple[str, bool] | None:
    """What the placebo shows, and whether that is a warning; None in a run without one.

    Exact metrics that it leaves alone do not count: no random draw could have moved them.

    Args:
        effects: `reports.effects.comparisons` with ``shown`` and ``size``.
        units: Of each metric.
    """
    rows = effects[of_placebo(effects)]
    rows = rows[~(rows["exact"] & rows["unchanged"])]
    if rows.empty:
        return None
    known = rows["within_noise"].notna()
    judged = rows[rows["judged"] & known]
    single = rows[rows["judged"] & ~known & (rows["n_seeds"] == 1)]
    nature = "of a factor that changes nothing but the random draws"
    if len(judged):
        outside = judged[judged["shown"]].sort_values("size", ascending=False, kind="stable")
        told = f"of {_effects(judged)} {nature}, "
        if outside.empty:
            return f"{told}none lies outside noise", False
        primary = int(outside["primary"].sum())
        verb = "lies" if len(outside) == 1 else "lie"
        figures = [
            f"{row.metric} ({_figure(row, units)}, {_width(row)})" for row in records(outside)
        ]
        return (
            f"{told}{len(outside):,} {verb} outside noise ({primary:,} on primary metrics): "
            f"{listed(figures, _NAMED)}. Effects of up to {_largest(outside, units)} are what "
            "noise alone can give here"
        ), True
    if len(single):
        told = f"with one seed no interval can be given for {_effects(single)} {nature}; "
        if not single["size"].any():
            return f"{told}none differs", False
        return (
            f"{told}the largest is {_largest(single, units)}, and effects of that size are what "
            "noise alone can give here"
        ), True
    return f"none of {_effects(rows)} {nature} can be judged", False


def placebo_support(effects: pd.DataFrame, interactions: pd.DataFrame) -> str:
    """How many interactions with the placebo lie outside noise, and what cannot be judged."""
    rows = effects[of_placebo(effects)]
    parts: list[str] = []
    unknown = ~rows["judged"] | (rows["within_noise"].isna() & (rows["n_seeds"] > 1))
    lost = int(unknown.sum())
    if lost:
        parts.append(f"{counted(lost, 'effect')} not judged: values lost, never there, or alike")
    pairs = interactions[of_placebo(interactions) & ~interactions["exact"]]
    pairs = pairs[pairs["judged"] & pairs["within_noise"].notna()]
    if len(pairs):
        outside = int(pairs["shown"].sum())
        verb = "lies" if 1 in (outside, len(pairs)) else "lie"
        parts.append(
            f"{outside:,} of {counted(len(pairs), 'interaction')} with it {verb} outside noise"
        )
    return "; ".join(parts)


def _effects(rows: pd.DataFrame) -> str:
    return f"{counted(len(rows), 'effect')} on {counted(rows['metric'].nunique(), 'metric')}"


def _largest(rows: pd.DataFrame, units: dict[str, str]) -> str:
    row = next(records(rows.sort_values("size", ascending=False, kind="stable")))
    return f"{_figure(row, units)} on {row.metric}"


def _width(row: Any) -> str:
    return "exact" if row.exact else bounds(row.low, row.high, row.scale, row.estimate)


def _figure(row: Any, units: dict[str, str]) -> str:
    unit = f" {units[row.metric]}" if row.scale == "linear" and units.get(row.metric) else ""
    return f"{change(row.estimate, row.scale, row.low, row.high)}{unit}"
