"""Levels whose long names differ in their middle alone are told apart wherever they are written."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports import Frames
from reports.comparison.told import move_findings
from reports.effects import comparisons
from reports.figures import effect_figures
from reports.pairs import told_levels
from reports.plots.budget import budget_table, plot_budget
from reports.plots.effects import describe_effects, effects_table, plot_effects
from reports.plots.moves import plot_moves
from reports.plots.profiles import describe_profile, plot_profile
from reports.plots.summary import profile_table
from reports.tradeoffs.pareto import cell_names
from tests.reports.simulated import default_run, make_frames

FIRST, SECOND = (f"n{'very_long_' * 9}{which}{'_level_name' * 9}" for which in ("one", "two"))


@pytest.fixture(scope="module")
def frames() -> Frames:
    noise = np.random.default_rng(0).normal(0, 0.01, (6, 3))
    size = np.array([1.0, 4.0, 9.0, 2.0, 5.0, 11.0])[:, None]
    levels = {"bias": ["yes", "no"], "norm": ["plain", FIRST, SECOND]}
    return make_frames(levels, {"raw": size + noise, "size": size + noise})


def apart(texts: list[str]) -> bool:
    """Whether texts of both levels are there, each saying which it is."""
    told = [[which in text for which in ("one_", "two_")] for text in texts]
    return len(set(texts)) == len(texts) > 1 and all(map(any, told)) and "…" in texts[0]


def shortened(texts: list[str]) -> list[str]:
    return [text for text in texts if "…" in text]


def ticks(figure: Figure) -> list[str]:
    return shortened([label.get_text() for label in figure.axes[0].get_yticklabels()])


def test_in_figures_of_effects_and_their_words(frames: Frames) -> None:
    table = effects_table(comparisons(frames), "raw", {("norm", FIRST, "raw")})
    drawn = ticks(plot_effects(table, unit=""))
    assert apart([name.removesuffix(" †") for name in drawn])
    assert sum(name.endswith(" †") for name in drawn) == 1
    alt, _ = describe_effects(table, "raw", 3)
    assert apart(re.findall(r"norm = ([^:]+):", alt))


def test_in_the_figure_of_parameters(frames: Frames) -> None:
    table = budget_table(frames, comparisons(frames), "size")
    assert table is not None
    names = ticks(plot_budget(table, frames))
    assert apart(names)


def test_in_figures_of_profiles() -> None:
    run = default_run(seeds=1)

    def renamed(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.replace({"silu": FIRST, "swiglu": SECOND})

    run = replace(run, cells=renamed(run.cells), factors=renamed(run.factors))
    for ranking in (["activation"], ["placement", "activation"]):
        table = profile_table(run, "gradient_flow.sensitivity", ranking)
        assert table is not None
        figure = plot_profile(table, run)
        legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        titles = [axes.get_title().partition("\n")[0] for axes in figure.axes]
        assert apart(shortened([*legends, *titles]))
        alt, _ = describe_profile(table)
        assert apart(list(dict.fromkeys(re.findall(r"[\w…]*…[\w…]*", alt))))


def test_in_cautions_and_names_of_cells(frames: Frames) -> None:
    info = frames.metric_info
    sized = ["size" if metric == "raw" else "" for metric in info["metric"]]
    scaled = info.assign(scales_with=pd.Series(sized, dtype=object))
    run = replace(frames, metric_info=scaled)
    (raw,) = [
        drawing for drawing in effect_figures(run, comparisons(run)) if "raw" in drawing.warning
    ]
    said = re.findall(r"norm = (\S+)", raw.warning)
    assert apart(said)
    assert set(told_levels(run)["norm"].values()) == {"plain", *said}
    names, baseline = cell_names(run)
    assert len(set(names)) == len(baseline) == 6


def test_in_a_comparison_of_two_runs() -> None:
    row = {
        "metric": "x", "factor": "norm", "reference": "plain", "primary": True, "lost": False,
        "within_noise": False, "exact": True, "unit": "", "scale": "linear",
        "estimate": 1.0, "low": 1.0, "high": 1.0, "caution": "", "how": "paired",
        "rates": "", "n_pairs": 1, "n_seeds": 1,
        **{f"{what}_{which}": 1.0 for what in ("estimate", "low", "high") for which in (1, 2)},
        **{f"{what}_{which}": 1 for what in ("n_pairs", "n_seeds") for which in (1, 2)},
    }  # fmt: skip
    moved = pd.DataFrame([{**row, "level": level} for level in (FIRST, SECOND)])
    moved["within_noise"] = moved["within_noise"].astype("boolean")
    claims = [found.claim for found in move_findings(moved) if found.factor == "norm"]
    assert apart([claim.split(" instead")[0] for claim in claims])
    table = moved.assign(
        name=[f"norm = {level}" for level in moved["level"]],
        moved=True,
        **{f"x{end}_{which}": 1.0 for end in ("", "_low", "_high") for which in (1, 2)},
    )
    assert apart(ticks(plot_moves(table, unit="")))
