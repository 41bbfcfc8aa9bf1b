"""Where the best learning rates of levels lie at an edge of the grid, and may lie beyond it."""

import numpy as np

from reports.finding import Finding
from reports.frames import Frames
from reports.pairs import pairs, told_levels
from reports.training.best_rates import BestRates
from reports.training.names import AT_BEST_RATE
from reports.wording import counted, short

MAX_LEVELS = 3
"""Levels of which one finding tells where their best rates are."""


class Edges:
    """How many of the settings that levels are compared in have their best rate at an edge."""

    def __init__(self, frames: Frames, rates: BestRates) -> None:
        """``frames`` is `reports.training.at_best_rate.frames_at_best_rate` of a run."""
        info = frames.metric_info
        self._metrics = set(info.loc[info["measure"] == AT_BEST_RATE, "metric"])
        at_edge = np.array([bool(edge) for edge in rates.edge], dtype=bool)
        told = told_levels(frames)
        self._of_level: dict[tuple[str, str], str] = {}
        for contrast in pairs(frames):
            factor, level, reference = (
                contrast.names[name] for name in ("factor", "level", "reference")
            )
            n, n_reference = at_edge[contrast.cells].sum(axis=1)
            of = contrast.cells.shape[1]
            if n or n_reference:
                self._of_level[factor, level] = (
                    f"{n:,} of {counted(of, 'setting')} with {short(factor)} = "
                    f"{told[factor][level]}, {n_reference:,} of {of:,} with "
                    f"{told[factor][reference]}"
                )

    def told(self, finding: Finding) -> str:
        """Those of the levels that a finding is about, in words; ``""`` where there are none."""
        if finding.metric not in self._metrics:
            return ""
        levels = finding.levels or [(finding.factor or "", finding.level or "")]
        told = [self._of_level[level] for level in levels if level in self._of_level]
        more = f"; and for {len(told) - MAX_LEVELS:,} more" if len(told) > MAX_LEVELS else ""
        where = "best rate at the edge of the grid in "
        return f"{where}{'; '.join(told[:MAX_LEVELS])}{more}" if told else ""
