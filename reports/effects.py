"""Paired effects: what each level changes, all else equal, and how sure that is.

Shapes: P pairs of cells, M metrics.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from reports.adjustment import Family, estimated_rows, exact_rows, judged, with_intervals
from reports.estimates import Block, Columns, Floats, estimates
from reports.frames import Frames
from reports.intervals import ALPHA, false_coverage_levels, holm_levels
from reports.pairs import Contrast, factor_names, level_codes, levels_by_factor, pairs
from reports.panel import Panel, panel
from reports.placebo import PLACEBO
from reports.still import certain, set_apart, still_pairs
from reports.variation import Codes, telling_factor, variation_test
from reports.wins import win_rates
from reports.within import effects_within, shown_ranges

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


def paired_effects(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
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
    diverged, skipped, not run, not applicable, marked as a cancelled probe, without a logarithm, or
    in a pair that is not complete over the seeds used.

    A report of a run that varies the learning rate of a training adjusts these intervals together
    with those at the best rates (`reports.training.compared`), so they are wider there.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it, if already computed.
    """
    return comparisons(frames, data)[list(EFFECT_COLUMNS)]


def comparisons(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
    """`paired_effects` with what a report tells beside them.

    Further columns: ``better``, ``primary``, ``exact``, ``reference_mean`` (over the pairs used;
    geometric on a log scale), ``unchanged`` (every pair is equal in every seed), and a count of
    dropped observations for each reason: ``n_diverged``, ``n_failed``, ``n_marked``,
    ``n_skipped``, ``n_not_run``, ``n_not_applicable``, ``n_no_value``.

    ``win_rate`` is the share of the ``n_ranked`` observations of which both members are usable or
    diverged in which the level is better than its reference (`reports.wins`): what diverged is
    last, a tie counts half. NaN for a metric of which neither direction is better.

    ``pair_low`` and ``pair_high`` are the smallest and the largest mean of a pair over seeds, as an
    estimate is written: noise is in them. ``varies`` says that the effect differs between pairs
    beyond noise, so that it depends on the other factors (`reports.variation`), and ``varies_with``
    which of them tells the pairs apart best, or nothing; the tests of all rows are adjusted as the
    main effects are, in families of their own. Where no seed changes the metric any difference
    counts, and where an effect is shown that some pairs do not have in any seed (`reports.still`)
    it varies for certain; a factor is then named if it tells all of it. NA with a single pair or
    seed.

    ``told_level`` is the error rate of what is looked at inside an effect because it varies, and
    ``shown_low`` and ``shown_high`` are the smallest and largest of what is shown there, no effect
    among it (`reports.within`): at the levels of ``varies_with``, or in pairs where it is empty.
    ``only_with`` names levels of other factors that all pairs used have, though others were asked
    for.
    """
    data = panel(frames) if data is None else data
    return adjusted(pair_estimates(frames, data))


def pair_estimates(
    frames: Frames, data: Panel, contrasts: Sequence[Contrast] | None = None
) -> pd.DataFrame:
    """What the pairs of every level come to on every metric, before intervals are given.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        contrasts: Which levels are set against which; each against its baseline if None.
    """
    further = partial(_further, data, _levels_of(frames), levels_by_factor(frames))
    chosen = pairs(frames) if contrasts is None else contrasts
    return estimates(data, chosen, ("factor", "level", "reference"), further)


def adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """`comparisons` of a run from what its pairs come to: the families are those of these rows."""
    primary = table["primary"].to_numpy(dtype=bool)
    families: list[Family] = [(primary, holm_levels), (~primary, false_coverage_levels)]
    table, varies, told = _varies(table, families)
    low, high = shown_ranges(table, varies.fillna(False).to_numpy(dtype=bool), told)
    result = with_intervals(table, families).assign(
        varies=varies, told_level=told, shown_low=low, shown_high=high
    )
    worked = ("differs", "variation", "within", "still", "n_candidates")
    rest = [column for column in result.columns if column not in (*EFFECT_COLUMNS, *worked)]
    return result[[*EFFECT_COLUMNS, *rest]]


def _levels_of(frames: Frames) -> dict[str, Codes]:
    """Of each factor that an effect may depend on every cell's level, 0 for its baseline.

    The placebo is none of them, as its levels differ by chance alone.
    """
    codes = level_codes(frames)
    return {
        factor: codes[:, column]
        for column, factor in enumerate(factor_names(frames))
        if factor != PLACEBO
    }


def _further(
    data: Panel,
    levels: dict[str, Codes],
    names: dict[str, list[str]],
    contrast: Contrast,
    columns: Columns,
    blocks: list[Block],
) -> Columns:
    """Columns (M,) of pairs alone: whether they differ, and how often the level wins."""
    variation = np.where(columns["n_pairs"] > 0, 1.0, np.nan)
    varies_with = np.full(len(data.info), "", dtype=object)
    within = np.full(len(data.info), None, dtype=object)
    still = np.full(len(data.info), None, dtype=object)
    only_with = np.full(len(data.info), "", dtype=object)
    n_levels = {factor: len(known) for factor, known in names.items()}
    for block in blocks:
        cells = contrast.cells[0, block.groups]
        others = {
            factor: level[cells]
            for factor, level in levels.items()
            if factor != contrast.names["factor"]
        }
        only_with[block.metrics] = _only_with(contrast, block, levels, names)
        for i, metric in enumerate(block.metrics):
            difference = block.difference[i]
            if not columns["differs"][metric]:
                continue
            if data.exact[metric]:
                size = max(np.abs(block.reference[i]).max(), np.abs(difference).max())
                varies_with[metric] = telling_factor(difference.mean(axis=1), size, others)
            else:
                found = variation_test(difference, others)
                variation[metric], varies_with[metric] = found.p_value, found.factor
                seen = data.values[metric][contrast.cells[:, block.groups]][..., block.seeds]
                apart = still_pairs(seen, difference)
                still[metric] = set_apart(apart, difference, others, n_levels)
            factor = varies_with[metric]
            within[metric] = (
                effects_within(difference, others[factor], n_levels[factor])
                if factor
                else effects_within(difference)
            )
    win_rate, n_ranked = win_rates(data, contrast.cells)
    return {
        "variation": variation,
        "varies_with": varies_with,
        "within": within,
        "still": still,
        "n_candidates": np.full(
            len(data.info), sum(f != contrast.names["factor"] for f in levels) + 1
        ),
        "only_with": only_with,
        "win_rate": win_rate,
        "n_ranked": n_ranked,
    }


def _only_with(
    contrast: Contrast, block: Block, levels: dict[str, Codes], names: dict[str, list[str]]
) -> str:
    """Levels that all pairs of a block have, of factors of which others were asked for."""
    if len(block.groups) == contrast.cells.shape[1]:
        return ""
    told: list[str] = []
    for factor, level in levels.items():
        asked = level[contrast.cells[0]]
        used = asked[block.groups]
        if factor != contrast.names["factor"] and np.ptp(used) == 0 and np.ptp(asked) > 0:
            told.append(f"{factor} = {names[factor][used[0]]}")
    return " and ".join(told)


def _varies(
    table: pd.DataFrame, families: list[Family]
) -> "tuple[pd.DataFrame, pd.api.extensions.ExtensionArray, Floats]":
    """Whether pairs differ beyond noise: any difference of an exact metric, else by a test, but
    where an effect is shown that some pairs do not have at all (`reports.still`).

    Before it the table with what tells pairs apart, after it the level of what is looked at inside
    an effect for that reason. Each effect could be
    told by any other factor, or by its pairs: of m such tables in all R are told, and each of those
    has the level alpha·R/m, which keeps their false coverage below alpha whatever chose them.
    Source: Benjamini and Yekutieli 2005, Journal of the American Statistical Association 100, as of
    `reports.intervals.false_coverage_levels`.
    """
    varies = pd.array([pd.NA] * len(table), dtype="boolean")
    by_test = np.zeros(len(table), dtype=bool)
    told = np.full(len(table), ALPHA)
    exact = exact_rows(table)
    varies[exact] = table["differs"].to_numpy(dtype=bool)[exact]
    variation = table["variation"].to_numpy(dtype=np.float64)
    tested = estimated_rows(table) & (table["n_pairs"] > 1).to_numpy(dtype=bool)
    own, shown = judged(table, families)
    sure = tested & shown & table["still"].notna().to_numpy(dtype=bool)
    for rows, adjust in families:
        chosen = rows & tested
        _, by_test[chosen] = adjust(variation[chosen])
        varies[chosen] = (by_test | sure)[chosen]
        candidates = int(table["n_candidates"].to_numpy()[chosen].sum())
        told[chosen] *= max(int(varies[chosen].sum()), 1) / max(candidates, 1)
    table, told = certain(table, by_test, told, sure, own)
    return table, varies, told
