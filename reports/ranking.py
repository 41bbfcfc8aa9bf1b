"""Which effect is larger, and which factors matter most.

The size of an effect does not depend on units: the absolute logarithm of the ratio it makes. A
difference is set against the mean of the reference first.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.records import records

BUDGET = "parameters.total"
"""The metric whose differences are told beside every other effect: unequal parameter budgets."""


def size(effects: pd.DataFrame) -> NDArray[np.float64]:
    """The unitless size of each row of `reports.effects.comparisons`; NaN without an estimate."""
    return np.abs(_position(effects, "estimate"))


def size_bounds(effects: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and the largest size inside each row's interval; NaN without an interval."""
    low, high = _position(effects, "low"), _position(effects, "high")
    nearest = np.where(
        np.sign(low) * np.sign(high) <= 0, 0.0, np.minimum(np.abs(low), np.abs(high))
    )
    nearest = np.where(np.isnan(low) | np.isnan(high), np.nan, nearest)
    return nearest, np.maximum(np.abs(low), np.abs(high))


def _position(effects: pd.DataFrame, column: str) -> NDArray[np.float64]:
    value = effects[column].to_numpy(dtype=np.float64)
    reference = np.abs(effects["reference_mean"].to_numpy(dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.where(value == 0, 0.0, value / reference)
        difference = np.sign(relative) * np.log1p(np.abs(relative))
        return np.where(effects["scale"] == "log", np.log(value), difference)


def beyond_noise(effects: pd.DataFrame) -> pd.Series:
    """Rows whose effect is shown: outside noise, and not a mean of survivors alone."""
    shown = effects["within_noise"].eq(False).fillna(False).astype(bool)
    return shown & ~has_survivors_only(effects)


def has_survivors_only(effects: pd.DataFrame) -> pd.Series:
    """Rows from which diverged or failed trials dropped out."""
    return (effects["n_diverged"] > 0) | (effects["n_failed"] > 0)


def rank_factors(frames: Frames, effects: pd.DataFrame, measure: str) -> list[str]:
    """All factors, by their largest effect on a measure's primary metrics.

    The most influential is first; factors without a shown effect keep the grid's order at the end.
    """
    info = frames.metric_info
    metrics = info.loc[(info["measure"] == measure) & info["primary"], "metric"]
    rows = effects[effects["metric"].isin(metrics) & beyond_noise(effects)]
    largest = pd.Series(size(rows), index=rows["factor"].to_numpy()).groupby(level=0).max()
    factors = [str(factor) for factor in frames.factors["factor"].unique()]
    return sorted(factors, key=lambda factor: -float(largest.get(factor, 0.0)))


def budget_change(effects: pd.DataFrame) -> dict[tuple[str, str], float]:
    """How many parameters more each level has than its reference: 0.05 is 5 % more.

    Keyed by factor and level, over their pairs; without `BUDGET` among the metrics it is empty.
    """
    rows = effects[(effects["metric"] == BUDGET) & (effects["n_pairs"] > 0)]
    changes: dict[tuple[str, str], float] = {}
    for row in records(rows):
        ratio = row.estimate - 1 if row.scale == "log" else row.estimate / row.reference_mean
        if np.isfinite(ratio):
            changes[row.factor, row.level] = float(ratio)
    return changes
