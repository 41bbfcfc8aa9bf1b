"""Effects that a component which reads the future takes part in: no evidence of anything."""

from collections.abc import Mapping

import numpy as np

from reports.frames import Frames
from reports.marks import LEAKS, marked_trials
from reports.pairs import pairs

LeakFlags = Mapping[tuple[str, str], tuple[int, int]]
"""By factor and level: in how many of its pairs a component reads the future, and of how many."""


def leak_flags(frames: Frames) -> dict[tuple[str, str], tuple[int, int]]:
    """The effects of levels that models which read the future take part in."""
    marked = marked_trials(frames)
    leaking = set(marked.loc[marked["mark"] == LEAKS, "cell"])
    if not leaking:
        return {}
    leaks = frames.cells["cell"].isin(leaking).to_numpy()
    flags = {}
    for contrast in pairs(frames):
        n_leaking = int(np.any(leaks[contrast.cells], axis=0).sum())
        if n_leaking:
            key = contrast.names["factor"], contrast.names["level"]
            flags[key] = n_leaking, contrast.cells.shape[1]
    return flags


def leak_warning(flag: tuple[int, int]) -> str:
    """What is said beside such an effect."""
    leaking, of = flag
    where = "" if leaking == of else f" in {leaking:,} of {of:,} pairs"
    return f"a component reads the future{where}: no evidence"
