"""Paired effects: what each level changes, all else equal, and how sure that is.

Shapes: P pairs of cells, S seeds.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.intervals import false_coverage_levels, half_widths, holm_levels, p_values
from reports.pairs import Pairs, baseline_level, ordered_levels, pairs
from reports.panel import REASONS, Panel, panel
from reports.variation import ROUNDING, Mask, pair_means, variation_test

EFFECT_COLUMNS = (
    "factor",
    "level",
    "reference",
    "metric",
    "scale",
    "estimate",
    "low",
    "high",
    "within_noise",
    "same_sign",
    "n_pairs",
    "n_seeds",
    "n_dropped",
)

_DROPPED = {reason: f"n_{reason.replace(' ', '_')}" for reason in REASONS[1:]}


def paired_effects(frames: Frames) -> pd.DataFrame:
    """The main effect of every level against its factor's baseline, on every metric.

    Pairs are cells that differ in that factor alone, taken per seed. ``estimate``, ``low`` and
    ``high`` are differences in the metric's unit on a linear scale, ratios on a log scale. The
    interval is Student's t on the seeds' means over pairs (the pairs of one seed are not
    independent), adjusted by Holm over the metrics declared primary and by Benjamini–Hochberg over
    the others; ``within_noise`` says that it contains no effect. A metric that no seed changes is
    exact: its interval has no width. With a single seed there is no interval: NaN, and
    ``within_noise`` is NA.

    ``same_sign`` is the share of pairs whose mean has the estimate's sign; ``n_dropped`` counts the
    observations (a pair in a seed) which the grid asked for and which are not used: failed,
    diverged, skipped, not run, marked as a cancelled probe, without a logarithm, or in a pair that
    is not complete over the seeds used.
    """
    return comparisons(frames)[list(EFFECT_COLUMNS)]


def comparisons(frames: Frames) -> pd.DataFrame:
    """`paired_effects` with what a report tells beside them.

    Further columns: ``primary``, ``exact``, ``reference_mean`` (over the pairs used; geometric on a
    log scale), ``unchanged`` (every pair is equal in every seed), and a count of dropped
    observations for each reason: ``n_diverged``, ``n_failed``, ``n_marked``, ``n_skipped``,
    ``n_not_run``, ``n_no_value``.

    ``pair_low`` and ``pair_high`` are the smallest and the largest mean of a pair over seeds, as an
    estimate is written. ``varies`` says that the effect differs between pairs beyond noise, so that
    it depends on the other factors (`reports.variation`), and ``varies_with`` which of them tells
    the pairs apart best, or nothing; the tests of all rows are adjusted as the main effects are, in
    families of their own. Where no seed changes the metric any difference
    counts. NA with a single pair or seed.
    """
    data = panel(frames)
    rows = [
        _compare(data, index, pair, _groups(frames, pair))
        for pair in pairs(frames)
        for index in range(len(data.info))
    ]
    table = pd.DataFrame.from_records(rows, columns=list(_ROW_TYPES)).astype(_ROW_TYPES)
    return _with_intervals(table)


# The types hold for a table without rows as well.
_ROW_TYPES: dict[str, Any] = {
    **dict.fromkeys(("factor", "level", "reference", "metric", "scale", "varies_with"), object),
    **dict.fromkeys(("primary", "exact", "unchanged", "differs"), bool),
    **dict.fromkeys(("mean", "error", "same_sign", "reference_mean"), np.float64),
    **dict.fromkeys(("smallest", "largest", "variation"), np.float64),
    **dict.fromkeys(("n_pairs", "n_seeds", "n_dropped", *_DROPPED.values()), np.int64),
}


Groups = dict[str, list[tuple[Mask, Mask]]]


def _groups(frames: Frames, pair: Pairs) -> Groups:
    """For each other factor the pairs (P,) at one of its levels, and those at its baseline."""
    groups: Groups = {}
    for factor in frames.factors["factor"].unique():
        if factor != pair.factor:
            of_pair = frames.cells[factor].to_numpy()[pair.first]
            baseline = baseline_level(frames, factor)
            groups[factor] = [
                (of_pair == level, of_pair == baseline)
                for level in ordered_levels(frames, factor)
                if level != baseline
            ]
    return groups


def _compare(data: Panel, index: int, pair: Pairs, groups: Groups) -> dict[str, Any]:
    """One row: the paired differences of one metric, in logarithms on a log scale."""
    values, reason = data.values[index], data.reason[index]
    cause = np.maximum(reason[pair.first], reason[pair.second])  # (P, S)
    whole, used = _complete_block(cause == 0)
    block = np.ix_(whole, used)
    reference = values[pair.first][block]  # (pairs used, seeds used)
    difference = values[pair.second][block] - reference
    info = data.info.iloc[index]
    row: dict[str, Any] = {
        "factor": pair.factor,
        "level": pair.level,
        "reference": pair.reference,
        "metric": info["metric"],
        "scale": info["scale"],
        "primary": bool(info["primary"]),
        "exact": bool(data.exact[index]),
        "n_pairs": len(whole),
        "n_seeds": len(used),
        "n_dropped": cause.size - difference.size,
        "unchanged": bool(difference.size) and not difference.any(),
        "differs": False,
        "varies_with": "",
        **dict.fromkeys(("mean", "error", "same_sign", "reference_mean"), np.nan),
        **dict.fromkeys(("smallest", "largest", "variation"), np.nan),
    }
    counts = np.bincount(cause.ravel(), minlength=len(REASONS))
    row |= {_DROPPED[name]: int(counts[code]) for code, name in enumerate(REASONS) if code}
    if difference.size:
        by_seed = difference.mean(axis=0)
        mean = by_seed.mean()
        if abs(mean) <= ROUNDING * np.abs(difference).max():
            mean = 0.0  # pairs that cancel leave no direction, though rounding would
        row["mean"] = mean
        by_pair, row["differs"] = pair_means(difference, reference)
        row["smallest"], row["largest"] = by_pair.min(), by_pair.max()
        row["variation"] = 1.0
        if row["differs"]:
            inside = {
                factor: [(level[whole], baseline[whole]) for level, baseline in contrasts]
                for factor, contrasts in groups.items()
            }
            variation = variation_test(difference, inside)
            row["variation"], row["varies_with"] = variation.p_value, variation.factor
        row["same_sign"] = (np.sign(by_pair) == np.sign(mean)).mean()
        level_mean = reference.mean()
        row["reference_mean"] = np.exp(level_mean) if info["scale"] == "log" else level_mean
        if len(used) > 1:
            row["error"] = by_seed.std(ddof=1) / np.sqrt(len(used))
    return row


def _complete_block(usable: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The pairs and the seeds to use, so that every pair used is complete over every seed used.

    Seeds enter in order of how many pairs they have, as long as that adds to the degrees of freedom
    over pairs: one bad pair costs that pair, one bad seed costs that seed.
    """
    count = usable.sum(axis=0)
    order = np.argsort(-count, kind="stable")
    complete = np.logical_and.accumulate(usable[:, order], axis=1)  # (P, S)
    pairs_left = complete.sum(axis=0).tolist()
    if not any(pairs_left):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    best = max(range(len(order)), key=lambda k: (pairs_left[k] * k, pairs_left[k]))
    return np.flatnonzero(complete[:, best]), np.sort(order[: best + 1])


def _with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    mean = table["mean"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    degrees = table["n_seeds"].to_numpy(dtype=np.float64) - 1
    exact = table["exact"].to_numpy(dtype=bool) & np.isfinite(mean)
    primary = table["primary"].to_numpy(dtype=bool)
    estimated = np.isfinite(error) & ~exact

    half = np.full(len(table), np.nan)
    half[exact] = 0.0
    noise = pd.array([pd.NA] * len(table), dtype="boolean")
    noise[exact] = mean[exact] == 0
    varies = pd.array([pd.NA] * len(table), dtype="boolean")
    varies[exact] = table["differs"].to_numpy(dtype=bool)[exact]
    variation = table["variation"].to_numpy(dtype=np.float64)
    tested = estimated & (table["n_pairs"] > 1).to_numpy(dtype=bool)
    for family, adjust in (
        (estimated & primary, holm_levels),
        (estimated & ~primary, false_coverage_levels),
    ):
        p = p_values(mean[family], error[family], degrees[family])
        levels, rejected = adjust(p)
        half[family] = half_widths(error[family], degrees[family], levels)
        noise[family] = ~rejected
        several = family & tested
        _, varies[several] = adjust(variation[several])

    log = (table["scale"] == "log").to_numpy(dtype=bool)
    bounds = {
        "estimate": mean,
        "low": mean - half,
        "high": mean + half,
        "pair_low": table["smallest"].to_numpy(dtype=np.float64),
        "pair_high": table["largest"].to_numpy(dtype=np.float64),
    }
    with np.errstate(over="ignore"):  # a bound too wide for a float is infinite
        columns = {name: np.where(log, np.exp(bound), bound) for name, bound in bounds.items()}
    worked = ["mean", "error", "differs", "smallest", "largest", "variation"]
    result = table.drop(columns=worked).assign(**columns, within_noise=noise, varies=varies)
    rest = [column for column in result.columns if column not in EFFECT_COLUMNS]
    return result[[*EFFECT_COLUMNS, *rest]]
