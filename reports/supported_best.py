"""Which level of a factor may be called the best one on a metric: never more than the data say."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from reports.effects import adjusted, pair_estimates
from reports.frames import Frames
from reports.pairs import level_pairs, levels_by_factor
from reports.panel import Panel
from reports.placebo import PLACEBO
from reports.ranking import beyond_noise, depends_on_others, has_survivors_only
from reports.records import records
from reports.sentences import mixed

Best = frozenset[tuple[str, str, str]]
"""Factor, level and metric of each level that is the best one."""


def supported_best(
    frames: Frames,
    data: Panel,
    effects: pd.DataFrame,
    flagged: Collection[tuple[str, str, str]] = (),
) -> Best:
    """The levels that are better than every other level of their factor, on primary metrics.

    A level is only named if each of these holds:

    - of the metric a direction is better;
    - it is better than every other level by paired differences that lie beyond noise, adjusted by
      Holm over all pairs of levels of all factors on all these metrics;
    - the effects that the run reports say so too: the level's own lies beyond noise, or, of a
      baseline, that of every other level;
    - no trial of any of these comparisons diverged, failed or gave no usable value;
    - none of them has a direction that changes with the other factors;
    - nothing is said against an effect on this metric of a level of the factor.

    Of the placebo no level is: it is chance.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        effects: `reports.effects.comparisons` of it.
        flagged: Factor, level and metric of what is no evidence, as in `reports.cautions.cautions`.
    """
    info = data.info
    directed = info.loc[info["primary"] & (info["better"] != "neither"), "metric"]
    contrasts = [one for one in level_pairs(frames) if one.names["factor"] != PLACEBO]
    if directed.empty or not contrasts:
        return frozenset()
    wins = _wins(adjusted(pair_estimates(frames, data.only(*directed), contrasts)))
    reported = _wins(effects[effects["metric"].isin(directed)])
    against = {(factor, metric) for factor, _, metric in flagged}
    best = set()
    for factor, levels in levels_by_factor(frames).items():
        for metric in directed:
            if (factor, metric) in against or len(levels) < 2:
                continue
            for level in levels:
                others = {(factor, level, other, metric) for other in levels if other != level}
                told = {key for key in others if levels[0] in key[1:3]}
                if others <= wins and told <= reported:
                    best.add((factor, level, str(metric)))
    return frozenset(best)


def _wins(table: pd.DataFrame) -> set[tuple[str, str, str, str]]:
    """Factor, better level, worse level and metric of each row in which it is shown."""
    sure = beyond_noise(table) & ~has_survivors_only(table) & (table["n_pairs"] > 0)
    rows = table.assign(depends=depends_on_others(table))[sure]
    none = np.where(rows["scale"] == "log", 1.0, 0.0)
    higher = rows["estimate"].to_numpy(dtype=np.float64) > none
    won = higher == (rows["better"] == "higher").to_numpy(dtype=bool)
    return {
        (row.factor, *((row.level, row.reference) if is_won else (row.reference, row.level)),
         row.metric)
        for row, is_won in zip(records(rows), won, strict=True)
        if not (row.depends and mixed(row))
    }  # fmt: skip
