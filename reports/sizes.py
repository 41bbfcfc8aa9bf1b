"""Raw figures: where levels differ in the size that a figure is told in, it is no evidence.

A metric or profile names that size's metric in ``metric_info.scales_with``: the raw gradient of the
residual stream shrinks as the stream grows, whatever reaches the weights.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reports.frames import Frames
from reports.records import records
from reports.wording import counted, number, short

LIMIT = 1.5
"""Sizes that differ more times than this, either way, are flagged."""

Flags = Mapping[tuple[str, str, str], float]
"""By factor, level and the metric or profile: how many times the size that it is told in differs.
"""

JointFlags = Mapping[tuple[str, str, str, str, str], float]
"""The same of two factors with their levels."""


def scaling(frames: Frames) -> dict[str, str]:
    """The metrics and profiles that are raw, each with the metric of the size it is told in."""
    info = frames.metric_info
    if "scales_with" not in info:
        return {}
    raw = info[info["scales_with"] != ""]
    return dict(zip(raw["metric"], raw["scales_with"], strict=True))


def size_flags(frames: Frames, effects: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Which levels change the size that a raw metric or profile is told in, and how many times.

    Keyed by factor, level and the name of the metric or profile; the ratio to the baseline level is
    the furthest from 1 of the size's mean effect and its smallest and largest pair. Only ratios
    beyond `LIMIT` either way are here; a level whose size was not compared is not.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it.
    """
    ratios = _ratios(frames, effects)
    return {(row.factor, row.level, name): ratio for name, row, ratio in ratios}


def interaction_flags(frames: Frames, interactions: pd.DataFrame) -> JointFlags:
    """The same of interactions: where two levels together change a size beyond what they do apart.

    Args:
        frames: The run.
        interactions: `reports.interactions.interaction_comparisons` of it.
    """
    ratios = _ratios(frames, interactions)
    return {
        (row.factor, row.level, row.factor_2, row.level_2, name): ratio
        for name, row, ratio in ratios
    }


def _ratios(frames: Frames, table: pd.DataFrame) -> Iterator[tuple[str, Any, float]]:
    """Each raw metric or profile with a row of its size's metric, if sizes differ there."""
    raw = scaling(frames)
    sized = table[table["metric"].isin(list(raw.values()))]
    rows = {metric: list(records(of)) for metric, of in sized.groupby("metric", sort=False)}
    for name, size in raw.items():
        for row in rows.get(size, []):
            ratio = _furthest(row)
            if _distance(ratio) > math.log(LIMIT):
                yield name, row, ratio


def _furthest(row: Any) -> float:
    values = [row.estimate, getattr(row, "pair_low", math.nan), getattr(row, "pair_high", math.nan)]
    if row.scale != "log":
        reference = row.reference_mean
        values = [(reference + value) / reference if reference else math.nan for value in values]
    known = [float(value) for value in values if not math.isnan(value)]
    return max(known, key=_distance, default=1.0)


def _distance(ratio: float) -> float:
    """How far a ratio is from 1, as a logarithm; what is not a positive number is furthest."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def times(ratio: float) -> str:
    """``16 times`` for a ratio of 16 and of 1/16; without a bound where one size is zero."""
    if math.isinf(_distance(ratio)):
        return "beyond all bounds"
    return f"{number(max(ratio, 1 / ratio))} times"


def flag(ratio: float) -> str:
    """What is said beside a figure."""
    return f"sizes differ {times(ratio)}: not evidence of flow"


def raw_warning(name: str, flags: Flags, names: Mapping[str, Mapping[str, str]]) -> str:
    """What a reader must know before looking at a figure of raw values, or nothing.

    ``names`` is `reports.pairs.told_levels` of the run.
    """
    levels = [
        f"{short(factor)} = {names[factor][level]} ({times(ratio)})"
        for (factor, level, flagged), ratio in flags.items()
        if flagged == name
    ]
    if not levels:
        return ""
    more = f"; and {counted(len(levels) - 6, 'more level')}" if len(levels) > 6 else ""
    told = "; ".join(levels[:6])
    return f"{name}: sizes differ, so it is not evidence of flow under {told}{more}."


def raw_note(name: str, raw: Mapping[str, str]) -> str:
    """What the caption of a raw metric or profile says; nothing of another."""
    if name not in raw:
        return ""
    return f" {name} is raw: where sizes ({raw[name]}) differ it is no evidence of flow."


def convention_of(name: str, raw: Mapping[str, str]) -> str:
    """What the conventions say of a raw metric or profile; nothing of another."""
    return f"raw: compare only where {raw[name]} is equal" if name in raw else ""
