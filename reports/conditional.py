"""Conditional effects: what a level does at each level of another factor taken alone."""

from functools import partial

import numpy as np
import pandas as pd

from reports.adjustment import with_intervals
from reports.effects import EFFECT_COLUMNS
from reports.estimates import estimates
from reports.frames import Frames
from reports.intervals import ALPHA, bonferroni_levels
from reports.pairs import Contrast, ordered_levels, pairs
from reports.panel import Panel, panel

CONDITIONAL_COLUMNS = (*EFFECT_COLUMNS[:3], "factor_2", "level_2", *EFFECT_COLUMNS[3:])


def conditional_effects(
    frames: Frames,
    *,
    factor: str,
    level: str,
    metric: str,
    factor_2: str,
    alpha: float = ALPHA,
    data: Panel | None = None,
    contrasts: list[Contrast] | None = None,
) -> pd.DataFrame:
    """The effect of one level on one metric at each level of another factor, in the grid's order.

    A row for every level of ``factor_2``, its baseline among them, over the pairs that have it:
    estimates, intervals and counts as in `reports.effects.comparisons`. The intervals are adjusted
    by Bonferroni over the levels of ``factor_2``, so that all of them hold together at 1 − alpha.
    A table that was chosen for what it shows needs a smaller alpha: ``told_level`` of
    `reports.effects.comparisons`.

    Args:
        frames: The run.
        factor: The factor whose effect is told.
        level: Its level, set against its baseline.
        metric: On which metric.
        factor_2: The factor at whose levels it is told.
        alpha: How often any interval of the table may be wrong.
        data: `reports.panel.panel` of the run, if already computed.
        contrasts: `reports.pairs.pairs` of the run, if already computed.

    Raises:
        ValueError: There is no such effect, metric or other factor.
    """
    data = panel(frames) if data is None else data
    known = {
        (c.names["factor"], c.names["level"]): c
        for c in (pairs(frames) if contrasts is None else contrasts)
    }
    if (factor, level) not in known:
        raise ValueError(
            f"expected a level that is set against its factor's baseline, got {factor} = {level}"
        )
    others = [str(name) for name in frames.factors["factor"].unique() if name != factor]
    if factor_2 not in others:
        raise ValueError(f"factor_2: expected one of {others}, got {factor_2!r}")
    metrics = data.info["metric"].to_list()
    if metric not in metrics:
        raise ValueError(f"metric: expected one of {metrics}, got {metric!r}")
    inside = at_levels(frames, known[factor, level], factor_2)
    return adjusted(estimates(data.only(metric), inside, NAMES), len(inside), alpha)


NAMES = ("factor", "level", "reference", "factor_2", "level_2")


def at_levels(frames: Frames, contrast: Contrast, factor_2: str) -> list[Contrast]:
    """The pairs of a contrast at each level of another factor, in the grid's order."""
    of_pair = frames.cells[factor_2].to_numpy(dtype=object)[contrast.cells[0]]
    return [
        Contrast(
            names=contrast.names | {"factor_2": factor_2, "level_2": level},
            cells=contrast.cells[:, of_pair == level],
        )
        for level in ordered_levels(frames, factor_2)
    ]


def adjusted(table: pd.DataFrame, n_levels: int, alpha: float = ALPHA) -> pd.DataFrame:
    """`conditional_effects` from what the pairs at each of so many levels come to."""
    together = partial(bonferroni_levels, n=n_levels, alpha=alpha)
    result = with_intervals(table, [(np.ones(len(table), dtype=bool), together)])
    rest = [name for name in result.columns if name not in (*CONDITIONAL_COLUMNS, "differs")]
    return result[[*CONDITIONAL_COLUMNS, *rest]]
