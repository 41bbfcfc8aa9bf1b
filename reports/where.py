"""Where an effect holds that depends on another factor, in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reports.records import records
from reports.wording import bounds, change, counted, listed, short

MAX_LEVELS = 4
"""Levels that are named with their figures; the rest is counted."""


NOWHERE = "at no single one shown"
"""What is said where every level has an interval that contains no effect."""


def where(rows: pd.DataFrame, unit: str, names: Mapping[str, str] | None = None) -> str:
    """At which levels of another factor an effect is shown, and at which nothing can be said.

    Levels at which it is shown come by size, with estimate and interval; "only" where the interval
    of every other level excludes each effect that is shown.

    Args:
        rows: `reports.conditional.conditional_effects` of one effect.
        unit: That of the metric; told of differences alone.
        names: How levels of the other factor are written; as `reports.wording.short` does if None.
    """
    noise = rows["within_noise"].fillna(False).astype(bool)
    unknown = rows["within_noise"].isna()
    shown = ~noise & ~unknown
    if (noise & ~rows["unchanged"]).all():
        return NOWHERE
    only = "only " if noise.any() and not unknown.any() and _excluded(rows, shown, noise) else ""
    estimate = rows["estimate"].to_numpy(dtype=float)
    size = np.abs(np.log(estimate) if (rows["scale"] == "log").all() else estimate)
    by_size = rows.assign(size=size)[shown].sort_values("size", ascending=False, kind="stable")
    parts: list[str] = []
    room = MAX_LEVELS
    for said, group in (
        (f"shown {only}with", by_size),
        ("not shown with", rows[noise & ~rows["unchanged"]]),
        ("unchanged with", rows[noise & rows["unchanged"]]),
        ("not judged with", rows[unknown]),
    ):
        if group.empty:
            continue
        named = [_level(row, unit, names) for row in records(group.head(room))]
        if named and room == MAX_LEVELS:
            named[0] = f"{short(str(rows['factor_2'].iloc[0]))} = {named[0]}"
        rest = len(group) - len(named)
        room -= len(named)
        if rest:
            named.append(f"{rest:,} more" if named else counted(rest, "level"))
        parts.append(f"{said} {listed(named)}")
    return "; ".join(parts)


def _excluded(rows: pd.DataFrame, shown: "pd.Series[bool]", noise: "pd.Series[bool]") -> bool:
    """Whether no interval of a level at which nothing is shown has an effect that is shown."""
    estimates = rows.loc[shown, "estimate"].to_numpy(dtype=float)
    low, high = (rows.loc[noise, end].to_numpy(dtype=float)[:, None] for end in ("low", "high"))
    return not ((low <= estimates) & (estimates <= high)).any()


def _level(row: Any, unit: str, names: Mapping[str, str] | None) -> str:
    """A level of the other factor, and the effect there."""
    name = short(row.level_2) if names is None else names[row.level_2]
    if pd.isna(row.within_noise) or row.unchanged:
        return name
    written = f" {unit}" if unit and row.scale == "linear" else ""
    if row.within_noise:
        return f"{name} ({bounds(row.low, row.high, row.scale, row.estimate)}{written})"
    if row.exact:
        return f"{name} ({change(row.estimate, row.scale)}{written})"
    within = bounds(row.low, row.high, row.scale, row.estimate)
    return f"{name} ({change(row.estimate, row.scale, row.low, row.high)}{written}, {within})"
