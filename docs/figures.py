"""Draws the figures of README.md from the run directory of the default grid.

python docs/figures.py runs/norm-placement
"""

from __future__ import annotations

import sys
from pathlib import Path

import ablations
from reports.effects import comparisons
from reports.plots.effects import effects_table, plot_effects
from reports.plots.profiles import plot_profile
from reports.plots.style import LIGHT
from reports.plots.summary import profile_table
from reports.ranking import rank_factors

DOCS = Path(__file__).parent


def main(run: str) -> None:
    """Write docs/effects.png and docs/sensitivity.png."""
    frames = ablations.open_run(run).frames()
    effects = comparisons(frames)
    profile = profile_table(
        frames, "gradient_flow.sensitivity", rank_factors(frames, effects, "gradient_flow")
    )
    assert profile is not None, "the default grid measures gradient flow"
    with LIGHT.context():
        for name, figure in {
            "effects": plot_effects(
                effects_table(effects, "gradient_flow.sensitivity_span"), unit="ratio"
            ),
            "sensitivity": plot_profile(profile, frames),
        }.items():
            figure.savefig(DOCS / f"{name}.png", dpi=144, facecolor="white", metadata={})


if __name__ == "__main__":
    main(*sys.argv[1:])
