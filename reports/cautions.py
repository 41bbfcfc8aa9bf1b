"""What stands beside an effect that is no evidence, or less than it looks.

Raw figures whose sizes differ (`reports.sizes`), and faulty components (`reports.leaks`).
"""

import math
from collections.abc import Mapping

import pandas as pd

from reports.frames import Frames
from reports.leaks import faulty_effects, faulty_interactions
from reports.ranking import beyond_noise
from reports.records import records
from reports.sizes import flag, interaction_flags, scaling, size_flags, times

Cautions = Mapping[tuple[str, str, str], str]
"""By factor, level and metric: what is said."""

JointCautions = Mapping[tuple[str, str, str, str, str], str]
"""By two factors with their levels, and metric."""

_MUCH = 0.5
"""Of an effect's logarithm: a size that differs so much may be what it shows."""
_LITTLE = math.log(1.02)


def cautions(frames: Frames, effects: pd.DataFrame) -> Cautions:
    """What is said beside the effects of a run, those of which something is.

    Args:
        frames: The run.
        effects: `reports.effects.comparisons` of it.
    """
    said = {key: [flag(ratio)] for key, ratio in size_flags(frames, effects).items()}
    for key, ratio in _by_size(frames, effects).items():
        said.setdefault(key, [f"sizes differ {times(ratio)}, which may be much of it"])
    faulty = faulty_effects(frames)
    for row in records(effects) if faulty else ():
        warning = faulty.get((row.factor, row.level))
        if warning and not row.exact:  # a count is one, whatever the component computes
            said.setdefault((row.factor, row.level, row.metric), []).append(warning)
    return {key: "; ".join(words) for key, words in said.items()}


def joint_cautions(frames: Frames, interactions: pd.DataFrame) -> JointCautions:
    """The same of interactions.

    Args:
        frames: The run.
        interactions: `reports.interactions.interaction_comparisons` of it.
    """
    said = {key: [flag(ratio)] for key, ratio in interaction_flags(frames, interactions).items()}
    faulty = faulty_interactions(frames)
    for row in records(interactions) if faulty else ():
        levels = (row.factor, row.level, row.factor_2, row.level_2)
        if levels in faulty and not row.exact:
            said.setdefault((*levels, row.metric), []).append(faulty[levels])
    return {key: "; ".join(words) for key, words in said.items()}


def caution_table(beside: Cautions, joint: JointCautions) -> pd.DataFrame:
    """All of them as a table: ``factor``, ``level``, ``factor_2``, ``level_2``, ``metric``,
    ``caution``; the second factor is ``""`` for an effect."""
    rows = [(f, level, "", "", metric, text) for (f, level, metric), text in beside.items()]
    rows += [(*key, text) for key, text in joint.items()]
    columns = ["factor", "level", "factor_2", "level_2", "metric", "caution"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _by_size(frames: Frames, effects: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Effects on raw metrics of which at least half is what the size does that they are told in."""
    raw = scaling(frames)
    log = effects[(effects["scale"] == "log") & beyond_noise(effects)]
    sizes = {
        (row.factor, row.level, row.metric): row.estimate
        for row in records(log[log["metric"].isin(set(raw.values()))])
    }
    found = {}
    for row in records(log[log["metric"].isin(set(raw))]):
        ratio = sizes.get((row.factor, row.level, raw[row.metric]))
        if ratio is None or not (0 < ratio < math.inf and 0 < row.estimate < math.inf):
            continue
        differs = abs(math.log(ratio))
        if differs > _LITTLE and differs >= _MUCH * abs(math.log(row.estimate)):
            found[row.factor, row.level, row.metric] = ratio
    return found
