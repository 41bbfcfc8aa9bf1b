"""Which effect is larger, and which factors matter most.

The size of an effect does not depend on units: the absolute logarithm of the ratio it makes. A
difference is set against the metric's mean over all references first, one number for all its rows.
Distances between effects are taken before that, so that within a metric sizes are ordered as the
distances are.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.placebo import PLACEBO
from reports.records import records

BUDGET = "parameters.total"
"""The metric whose differences are told beside every other effect: unequal parameter budgets."""

Floats = NDArray[np.float64]
_SLIGHT = 0.01


def size(effects: pd.DataFrame) -> Floats:
    """The unitless size of each row of `reports.effects.comparisons`; NaN without an estimate.

    Give it every row of a metric, or sizes of one metric differ between calls.
    """
    return _as_size(effects, np.abs(position(effects, "estimate")))


def reach(effects: pd.DataFrame) -> Floats:
    """How far what is shown of each row goes over the other factors, no effect among it."""
    return _as_size(effects, position(effects, "shown_high") - position(effects, "shown_low"))


def position(effects: pd.DataFrame, column: str) -> Floats:
    """A column that is written as an estimate is, so that no effect is 0: logarithms of ratios."""
    value = effects[column].to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(effects["scale"] == "log", np.log(value), value))


def _as_size(effects: pd.DataFrame, distance: Floats) -> Floats:
    """Distances between positions, not negative, as sizes."""
    means = effects["reference_mean"].abs().groupby(effects["metric"]).transform("mean")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.where(distance == 0, 0.0, distance / means.to_numpy(dtype=np.float64))
        return np.asarray(np.where(effects["scale"] == "log", distance, np.log1p(relative)))


def level_spans(effects: pd.DataFrame) -> pd.DataFrame:
    """How far apart each factor's levels lie, its baseline among them: no matter which that is.

    Only levels with a shown effect count as apart from the baseline. ``least`` and ``most`` are the
    span's ends when every effect goes to an end of its interval, shown or not; NaN without any.
    All three are differences of the metric, or of its logarithm on a log scale.

    Args:
        effects: All rows of one metric.

    Returns:
        ``span``, ``least``, ``most`` by factor, in the order of the rows.
    """
    shown = beyond_noise(effects).to_numpy(dtype=bool)
    sure = ~has_survivors_only(effects).to_numpy(dtype=bool)
    middle, low, high = (position(effects, column) for column in ("estimate", "low", "high"))
    spans: dict[Any, dict[str, float]] = {}
    for factor in effects["factor"].unique():
        here = (effects["factor"] == factor).to_numpy(dtype=bool)
        some, known = here & shown, here & sure & ~np.isnan(low)
        spans[factor] = {
            "span": middle[some].max(initial=0.0) - middle[some].min(initial=0.0),
            "least": low[some].max(initial=0.0) - high[some].min(initial=0.0),
            "most": high[known].max(initial=0.0) - low[known].min(initial=0.0)
            if known.any()
            else np.nan,
        }
    return pd.DataFrame.from_dict(spans, orient="index", columns=["span", "least", "most"])


def beyond_noise(effects: pd.DataFrame) -> pd.Series:
    """Rows whose effect is shown: outside noise, and not a mean of survivors alone."""
    shown = effects["within_noise"].eq(False).fillna(False).astype(bool)
    return shown & ~has_survivors_only(effects)


def depends_on_others(effects: pd.DataFrame) -> pd.Series:
    """Rows whose effect differs between pairs beyond noise, and is not of survivors alone.

    Pairs that differ by less than a hundredth of a shown effect are left out, unless it is exact.
    """
    varies = effects["varies"].fillna(False).astype(bool)
    with np.errstate(invalid="ignore"):
        apart = position(effects, "pair_high") - position(effects, "pair_low")
        slight = apart < _SLIGHT * np.abs(position(effects, "estimate"))
    return varies & ~has_survivors_only(effects) & ~(slight & ~effects["exact"].astype(bool))


def importance(effects: pd.DataFrame) -> Floats:
    """How large what is shown of each row is, its `reach` where it varies; 0 if nothing is."""
    shown = np.where(beyond_noise(effects), size(effects), 0.0)
    return np.maximum(shown, np.where(depends_on_others(effects), reach(effects), 0.0))


def has_survivors_only(effects: pd.DataFrame) -> pd.Series:
    """Rows from which trials dropped out that diverged, failed, or gave no usable value."""
    return (effects["n_diverged"] > 0) | (effects["n_failed"] > 0) | (effects["n_no_value"] > 0)


def rank_factors(frames: Frames, effects: pd.DataFrame, measure: str) -> list[str]:
    """All factors, by what is shown of them on a measure's primary metrics.

    The most influential is first; factors of which nothing is shown keep the grid's order. Last,
    whatever is shown of them, are the placebo and the options of other measures, which change
    nothing here.
    """
    info = frames.metric_info
    metrics = info.loc[(info["measure"] == measure) & info["primary"], "metric"]
    rows = effects[effects["metric"].isin(metrics)]
    largest = pd.Series(importance(rows), index=rows["factor"].to_numpy()).groupby(level=0).max()
    factors = [str(factor) for factor in frames.factors["factor"].unique()]
    others = set(info["measure"]) - {measure}

    def place(factor: str) -> tuple[bool, bool, float]:
        of_another = factor.partition(".")[0] in others
        return factor == PLACEBO, of_another, -float(largest.get(factor, 0.0))

    return sorted(factors, key=place)


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
