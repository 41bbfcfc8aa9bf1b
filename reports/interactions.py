"""Interactions: what two levels do together beyond what each does alone."""

import numpy as np
import pandas as pd

from reports.adjustment import with_intervals
from reports.effects import EFFECT_COLUMNS
from reports.estimates import estimates
from reports.frames import Frames
from reports.intervals import false_coverage_levels
from reports.panel import Panel, panel
from reports.quadruples import quadruples

INTERACTION_COLUMNS = (*EFFECT_COLUMNS[:3], "factor_2", "level_2", *EFFECT_COLUMNS[3:])


def interactions(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
    """What each two levels of two factors do together beyond what they do apart, on every metric.

    The estimate is a difference of differences (a ratio of ratios on a log scale): what ``level``
    changes at ``level_2``, less what it changes at the baseline of ``factor_2``. It is taken over
    quadruples of cells that are equal in all other factors, per seed: ``n_pairs`` counts
    quadruples, and ``n_dropped`` observations of one quadruple in one seed. Intervals are those of
    `reports.effects.paired_effects`, adjusted by Benjamini–Hochberg over all interactions of the
    run, primary metrics or not.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it, if already computed.
    """
    return interaction_comparisons(frames, data)[list(INTERACTION_COLUMNS)]


def interaction_comparisons(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
    """`interactions` with what a report tells beside them.

    Further columns are those of `reports.effects.comparisons`, without how the pairs vary and who
    wins, and with ``reference_2``. ``reference_mean`` is that of the cells at both baselines.
    """
    data = panel(frames) if data is None else data
    return adjusted(quadruple_estimates(frames, data))


def quadruple_estimates(frames: Frames, data: Panel) -> pd.DataFrame:
    """What the quadruples of every two levels come to, before intervals are given."""
    names = ("factor", "level", "reference", "factor_2", "level_2", "reference_2")
    return estimates(data, quadruples(frames), names)


def adjusted(table: pd.DataFrame) -> pd.DataFrame:
    """`interaction_comparisons` from what quadruples come to: these rows are the one family."""
    everything = np.ones(len(table), dtype=bool)
    result = with_intervals(table, [(everything, false_coverage_levels)])
    rest = [name for name in result.columns if name not in (*INTERACTION_COLUMNS, "differs")]
    return result[[*INTERACTION_COLUMNS, *rest]]
