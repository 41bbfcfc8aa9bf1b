"""Figures: what is drawn, in words and in marks."""

import base64
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from reports import Frames
from reports.effects import comparisons
from reports.figures import budget_figure, effect_figures
from reports.plots.axis import value_axis
from reports.plots.budget import budget_table, plot_budget
from reports.plots.data import figure_data
from reports.plots.effects import effects_table, plot_effects
from reports.plots.profiles import plot_profile
from reports.plots.style import (
    DARK,
    LIGHT,
    MAX_LEVELS,
    Drawing,
    Plot,
    draw,
    drawable,
    level_styles,
)
from reports.plots.summary import profile_table
from reports.ranking import rank_factors
from tests.reports.simulated import default_run, interacting, make_frames, set_state

NO_WORDS: dict[str, Any] = {"alt": "", "caption": "", "data": figure_data("figure", "nowhere")}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return default_run(seeds=3)


@pytest.fixture(autouse=True)
def no_figure_is_left_open() -> Iterator[None]:
    yield
    assert plt.get_fignums() == []


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures with their words, but without the time that drawing takes."""

    def words(plot: Plot, **said: str) -> Drawing:
        return Drawing(light="", dark="", width=1, height=1, **said)

    monkeypatch.setattr("reports.figures.draw", words)


def test_effects_are_drawn_by_size_with_their_status(frames: Frames) -> None:
    effects = comparisons(frames)
    table = effects_table(effects, "gradient_flow.embedding")
    assert table["name"].iloc[0] == "placement = post"
    assert table["x"].iloc[0] == pytest.approx(np.log(table["estimate"].iloc[0]))
    assert table["status"].isin(["shown", "inside noise"]).all()
    assert set(effects_table(effects, "parameters.total")["status"]) == {
        "exact",
        "unchanged",  # activation = silu
    }
    assert len(effects_table(effects, "parameters.total", limit=3)) == 3


def test_a_range_over_pairs_is_drawn_where_the_effect_depends_on_others() -> None:
    table = effects_table(comparisons(interacting("log")), "x")
    assert table.set_index("name")["depends"].to_dict() == {
        "norm = b": True,
        "placement = post": True,
        "size = 2": False,
    }
    figure = plot_effects(table, unit="")
    (axes,) = figure.axes
    lines = [line for line in axes.lines if line.get_marker() == "|"]
    assert len(lines) == 2
    drawn = np.sort(np.asarray(lines[0].get_xdata(), dtype=float))
    assert drawn.tolist() == pytest.approx(table[["x_pair_low", "x_pair_high"]].iloc[0].to_list())
    assert axes.get_xlim()[0] < drawn[0] < drawn[1] < axes.get_xlim()[1]
    (legend,) = figure.legends
    assert "range over pairs" in [text.get_text() for text in legend.get_texts()]


def test_a_range_too_narrow_to_see_is_not_drawn(frames: Frames) -> None:
    table = effects_table(comparisons(frames), "parameters.total")
    assert table["depends"].any()
    (axes,) = plot_effects(table, unit="").axes
    assert not [line for line in axes.lines if line.get_marker() == "|"]


def test_effects_chart_names_rows_and_units(frames: Frames) -> None:
    table = effects_table(comparisons(frames), "parameters.total")
    figure = plot_effects(table, unit="parameters")
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == table["name"].to_list()
    assert axes.get_xlabel() == "difference to the baseline level (parameters)"
    assert axes.get_xlim()[0] < table["x"].min()


def test_ratio_ticks_are_round_and_apart() -> None:
    for spread in (0.001, 0.02, 0.2, 1.0, 3.0, 30.0, 300.0):
        values = np.exp(np.array([0, spread])[:, None] + np.zeros((2, 2)))
        table = effects_table(
            comparisons(make_frames({"f": ["a", "b"]}, {"x": values}, scale="log")), "x"
        )
        (axes,) = plot_effects(table, unit="").axes
        low, high = axes.get_xlim()
        ticks = axes.get_xticks()
        assert 2 <= len(ticks) <= 10, (spread, ticks)
        assert min(np.diff(ticks)) > 0.09 * (high - low), spread
        texts = [label.get_text() for label in axes.get_xticklabels()]
        assert len(set(texts)) == len(texts)
        assert all(text.endswith(("×", "%")) for text in texts)


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(0.99985, 1.0, "linear"), (0.99985, 1.0, "log"), (0, 5, "linear"), (1e-9, 1e3, "log")],
)
def test_numbers_of_an_axis_are_told_apart(low: float, high: float, scale: str) -> None:
    axes = Figure().subplots()
    axes.set_xlim(low or 1e-3, high)
    axes.set_xscale(scale)  # type: ignore[arg-type]
    value_axis(axes, "x", scale)
    texts = [label.get_text() for label in axes.get_xticklabels()]
    assert 2 <= len(texts) <= 8
    assert len(set(texts)) == len(texts)


def test_intervals_beyond_the_axis_are_cut() -> None:
    values = np.exp([[0.0, 1.0], [3.0, -1.5]])
    effects = comparisons(make_frames({"f": ["a", "b"]}, {"x": values}, scale="log"))
    table = effects_table(effects, "x")
    (axes,) = plot_effects(table, unit="").axes
    assert axes.get_xlim()[1] < table["x_high"].iloc[0]
    markers = {str(line.get_marker()) for line in axes.lines}
    assert {"<", ">"} <= markers


def test_ratios_are_told_up_to_a_thousandfold_and_the_axis_ends_there() -> None:
    """Two seeds 100 apart in logarithms say next to nothing; the estimate is none at all."""
    values = np.exp([[0.0, 0.0], [100.0, -100.0]])
    effects = comparisons(make_frames({"f": ["a", "b"]}, {"x": values}, scale="log"))
    table = effects_table(effects, "x")
    assert table["x_high"].iloc[0] > 1000
    (axes,) = plot_effects(table, unit="").axes
    low, high = axes.get_xlim()
    assert np.log(1000) < high < np.log(2500)
    assert low == -high
    (said,) = [text.get_text() for text in axes.texts]
    assert said == "1 times  (under 0.001 to over 1,000 times)"


def test_profile_means_and_band(frames: Frames) -> None:
    table = profile_table(frames, "gradient_flow.sensitivity", ["placement", "activation"])
    assert table is not None
    raw = frames.profiles[frames.profiles["profile"] == "gradient_flow.sensitivity"].merge(
        frames.cells
    )
    row = table.rows.iloc[0]
    here = raw[(raw["placement"] == row["hue"]) & (raw["activation"] == row["column"])]
    values = np.log(here.loc[here["position"] == row["x"], "value"])
    assert row["n"] == len(values) == 36
    assert row["mean"] == pytest.approx(np.exp(values.mean()))
    assert row["low"] == pytest.approx(np.exp(np.quantile(values, 0.1)))
    assert row["high"] == pytest.approx(np.exp(np.quantile(values, 0.9)))
    assert (table.n_trials, table.n_lost) == (216, 0)
    figure = plot_profile(table, frames)
    assert [axes.get_title().split("\n")[0] for axes in figure.axes] == ["gelu", "silu", "swiglu"]
    assert figure.axes[0].get_yscale() == "log"
    assert all(len(axes.lines) == 2 for axes in figure.axes)


def test_profile_leaves_out_whole_trials_and_counts_them(frames: Frames) -> None:
    profiles = frames.profiles.copy()
    here = profiles["profile"] == "gradient_flow.sensitivity"
    profiles.loc[profiles[here].index[0], "value"] = 0.0
    lost = replace(frames, profiles=profiles)
    rows = (frames.trials["cell"] == frames.cells["cell"].iloc[5]) & (frames.trials["seed"] == 0)
    lost = set_state(lost, rows, "diverged")
    table = profile_table(lost, "gradient_flow.sensitivity", ["placement"])
    assert table is not None
    assert (table.n_trials, table.n_lost) == (214, 2)
    assert table.rows["n"].to_list() == [107] * 24


def test_profile_without_values_is_none(frames: Frames) -> None:
    lost = set_state(frames, frames.trials["seed"] >= 0, "failed")
    assert profile_table(lost, "gradient_flow.sensitivity", ["placement"]) is None


def test_ranking_is_by_shown_effects(frames: Frames) -> None:
    effects = comparisons(frames)
    assert rank_factors(frames, effects, "gradient_flow")[:2] == ["placement", "activation"]
    assert rank_factors(frames, effects, "parameters")[:2] == ["attention", "activation"]


def test_budget_groups_cells_by_what_moves_them(frames: Frames) -> None:
    table = budget_table(frames, comparisons(frames), "parameters.total")
    assert table is not None
    assert (table.row_factors, table.hue) == (("attention", "activation"), "bias")
    assert table.rows["n"].to_list() == [4] * 18
    assert table.rows["baseline"].sum() == 1
    (axes,) = plot_budget(table, frames).axes
    assert axes.get_xlabel() == "parameters"
    assert len(axes.get_yticks()) == 9


def test_same_level_looks_the_same_and_the_baseline_first() -> None:
    factors = {"f": [f"level {i}" for i in range(MAX_LEVELS)]}
    frames = make_frames(factors, {"x": np.ones((MAX_LEVELS, 1))})
    shifted = replace(
        frames, factors=frames.factors.assign(baseline=frames.factors["position"] == 3)
    )
    assert level_styles(frames)["f", "level 0"].color == 0
    styles = level_styles(shifted)
    assert styles["f", "level 3"].color == 0
    assert len({style.color for style in styles.values()}) == MAX_LEVELS
    assert len({style.marker for style in styles.values()}) == MAX_LEVELS
    assert len(set(LIGHT.colors)) == len(set(DARK.colors)) == MAX_LEVELS


def test_text_that_no_font_draws_is_replaced() -> None:
    assert drawable("a🎉b\x07c\nd") == "a\ufffdb\ufffdc d"
    assert drawable("$x$ é ≥") == "$x$ é ≥"


def test_figures_are_the_same_bytes_again(frames: Frames) -> None:
    table = effects_table(comparisons(frames), "parameters.total")
    plot = partial(plot_effects, table, unit="parameters")
    first, second = (draw(plot, **NO_WORDS) for _ in range(2))
    assert first == second
    assert first.light != first.dark
    root = ET.fromstring(base64.b64decode(first.light.split(",", 1)[1]))
    assert root.tag.endswith("svg")
    assert not [e for e in root.iter() if e.tag.endswith("date")]


def test_text_alternatives_say_what_is_shown(frames: Frames, undrawn: None) -> None:
    effects = comparisons(frames)
    embedding, sensitivity, parameters = effect_figures(frames, effects)
    assert "placement = post: 2." in embedding.alt
    each = "each level against its factor's baseline, all else equal; n = 24 to 36 pairs, 3 seeds"
    lines = "Lines: adjusted 95 % intervals, also in brackets."
    assert embedding.caption == f"Effects on gradient_flow.embedding, {each} a row. {lines}"
    # All of it is exact, and the ranges over pairs are too narrow to be drawn.
    assert parameters.caption == f"Effects on parameters.total, {each} a row."
    assert "gradient_flow.sensitivity_ratio" in sensitivity.caption
    assert "attention = mqa: −1,181,952, exact" in parameters.alt
    budget = budget_figure(frames, effects)
    assert budget is not None
    by = "72 cells, by attention, activation and bias"
    assert budget.caption == f"parameters.total of {by}. Dots: means over the other factors."


def test_profiles_along_steps(frames: Frames) -> None:
    profiles = frames.profiles[frames.profiles["profile"] == "gradient_flow.sensitivity"]
    steps = profiles.assign(axis="step", step=profiles["position"] * 10, position=0)
    table = profile_table(replace(frames, profiles=steps), "gradient_flow.sensitivity", ["norm"])
    assert table is not None
    assert sorted(table.rows["x"].unique()) == list(range(0, 120, 10))
    figure = plot_profile(table, frames)
    assert figure.axes[0].get_xlabel() == "step"


def test_more_levels_than_can_be_told_apart_are_said() -> None:
    factors = {"f": [f"level {i}" for i in range(30)]}
    frames = make_frames(factors, {"x": np.ones((30, 2))})
    default = default_run(seeds=1)
    info = default.metric_info[default.metric_info["metric"] == "gradient_flow.sensitivity"]
    profiles = frames.trials[["cell", "seed"]].merge(
        default.profiles[["profile", "axis", "position", "step", "value"]].iloc[12:24], how="cross"
    )
    frames = replace(
        frames,
        metric_info=info.assign(measure="m"),
        profiles=profiles,
        metrics=frames.metrics.iloc[:0],
    )
    table = profile_table(frames, "gradient_flow.sensitivity", ["f"])
    assert table is not None
    assert table.rows["hue"].nunique() == MAX_LEVELS
    assert table.left_out.startswith(" Of f only level 0, level 1,")
    assert draw(lambda *, theme: plot_profile(table, frames, theme=theme), **NO_WORDS).light
