"""Figures on one axes: what the tables say is what is drawn, and any name can be."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from reports import Frames, plots
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from tests.reports.simulated import default_run, interacting, make_frames
from tests.reports.simulated_training import training_run
from tests.reports.test_page import EVIL

FLOW = "gradient_flow.sensitivity"


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def frames() -> Frames:
    return default_run(seeds=3)


@pytest.fixture(scope="module")
def trained() -> Frames:
    wild = [({"placement": "post", "training.learning_rate": "0.003"}, 1)]
    grid = {"placement": ["pre", "post"], "training.learning_rate": ["0.0003", "0.003"]}
    return training_run(grid, diverged=wild)


def named(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_every_public_name_is_there_and_others_are_not() -> None:
    assert dir(plots) == sorted(plots.__all__)
    for name in plots.__all__:
        assert callable(getattr(plots, name))
    with pytest.raises(AttributeError, match=r"^module 'reports.plots' has no attribute 'pie'$"):
        _ = plots.pie  # type: ignore[attr-defined]


def test_an_effect_is_a_dot_and_an_interval_at_its_place(frames: Frames) -> None:
    effects = comparisons(frames)
    table = plots.effects_table(effects, "gradient_flow.embedding")
    ax = plots.plot_effects(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == table["name"].to_list()
    dots = [line for line in ax.lines if line.get_marker() in "oD" and len(line.get_xdata()) == 1]
    assert [line.get_xdata()[0] for line in dots] == table["x"].to_list()
    spans = [c.get_segments()[0][:, 0] for c in ax.collections if isinstance(c, LineCollection)]
    np.testing.assert_allclose(spans, table[["x_low", "x_high"]])
    assert ax.get_xlabel() == "ratio to the baseline level"


def test_interactions_are_drawn_the_same_way_the_shown_and_largest_first() -> None:
    frames = interacting("log")
    both = interaction_comparisons(frames)
    table = plots.interactions_table(both, "x")
    rows = both.set_index(["factor", "level", "factor_2", "level_2"])
    assert table["name"].iloc[0] == "norm = b with placement = post"
    key = ("norm", "b", "placement", "post")
    assert table["x"].iloc[0] == pytest.approx(np.log(rows.loc[key, "estimate"]))
    assert table["status"].to_list() == ["shown", *["inside noise"] * 2]
    ax = plots.plot_effects(table)
    assert [label.get_text() for label in ax.get_yticklabels()] == table["name"].to_list()
    assert len(plots.interactions_table(both, "x", limit=1)) == 1


def test_axes_that_are_given_are_drawn_on_and_returned(frames: Frames, trained: Frames) -> None:
    table = plots.effects_table(comparisons(frames), "gradient_flow.embedding")
    for draw in (
        lambda ax: plots.plot_effects(table, ax),
        lambda ax: plots.plot_profile(plots.profile_table(frames, FLOW), ax),
        lambda ax: plots.plot_losses(plots.losses_table(trained), ax),
    ):
        _, ax = pyplot.subplots()
        before = pyplot.get_fignums()
        assert draw(ax) is ax
        assert pyplot.get_fignums() == before


def test_a_profile_is_the_mean_of_the_trials_of_each_level(frames: Frames) -> None:
    table = plots.profile_table(frames, FLOW, by="placement")
    ax = plots.plot_profile(table)
    assert named(ax) == ["pre", "post"]
    rows = frames.profiles[frames.profiles["profile"] == FLOW].merge(frames.cells, on="cell")
    expected = np.exp(np.log(rows["value"]).groupby([rows["placement"], rows["position"]]).mean())
    for line, level in zip(ax.lines, ("pre", "post"), strict=True):
        np.testing.assert_allclose(line.get_ydata(), expected[level])
    assert ax.get_yscale() == "log"
    assert (ax.get_xlabel(), ax.get_title()) == ("block", f"{FLOW} (n = 216 trials)")
    assert named(plots.plot_profile(plots.profile_table(frames, FLOW))) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda f: plots.profile_table(f, "gradient_flow.sensitivty"),
            "profile: expected one of ['gradient_flow.block_gradient_norm', "
            "'gradient_flow.block_gradient_rms', 'gradient_flow.sensitivity', "
            "'gradient_flow.stream_gradient', 'gradient_flow.stream_rms', 'parameters.per_block'], "
            "got 'gradient_flow.sensitivty'",
        ),
        (
            lambda f: plots.profile_table(f, FLOW, by="nrom"),
            "by: expected one of ['norm', 'activation', 'attention', 'bias', 'placement'], "
            "got 'nrom'",
        ),
        (
            lambda f: plots.profile_table(replace(f, profiles=f.profiles.iloc[:0]), FLOW),
            f"profile: no trial left a usable value of '{FLOW}'",
        ),
        (
            lambda f: plots.losses_table(f, by="nrom"),
            "by: expected one of ['norm', 'activation', 'attention', 'bias', 'placement'], "
            "got 'nrom'",
        ),
        (plots.losses_table, "no trial of this run left a finite training loss"),
        (
            lambda f: plots.plot_effects(plots.effects_table(comparisons(f), "no")),
            "expected a table with rows, got none: no such effect was estimated",
        ),
        (
            lambda f: plots.plot_losses(pd.DataFrame()),
            "expected a table with rows, got none",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call: object, message: str, frames: Frames) -> None:
    with pytest.raises(ValueError) as raised:
        call(frames)  # type: ignore[operator]
    assert str(raised.value) == message


def test_a_line_of_losses_is_no_mean_of_survivors(trained: Frames) -> None:
    table = plots.losses_table(trained, by="placement")
    ends = table.groupby("line").tail(1)
    apart = ends[ends["n"] == 1]
    assert (apart["level"] == "post").all()
    assert sorted(apart["state"]) == ["diverged", "stalled", "stalled"]
    ax = plots.plot_losses(table)
    assert named(ax) == ["pre", "post"]
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert len(crosses) == 1
    (gone,) = ends[ends["state"] == "diverged"].itertuples()
    assert (crosses[0].get_xdata()[0], crosses[0].get_ydata()[0]) == (gone.x, gone.mean)


def test_losses_by_a_factor_are_those_of_its_levels(trained: Frames) -> None:
    table = plots.losses_table(trained, by="training.learning_rate")
    assert set(table["level"]) == {"0.0003", "0.003"}
    own = trained.profiles.merge(trained.cells, on="cell")
    own = own[own["profile"] == "training.loss"]
    for level, rows in table[table["state"] != "diverged"].groupby("level"):
        first = own[(own["training.learning_rate"] == level) & (own["step"] == 0)]["value"]
        starts = rows.groupby("line").head(1)
        assert starts["low"].min() >= first.min() - 1e-12
        assert starts["high"].max() <= first.max() + 1e-12
    assert set(plots.losses_table(trained)["level"]) == {""}


def test_trials_that_are_taken_together_are_still_told_by_their_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reports.plots.loss_lines.MAX_LINES", 1)
    two = {name: ["1", "2"] for name in ("width", "bias", "depth")}
    frames = training_run({"placement": ["pre", "post"], "norm": ["a"], **two})
    table = plots.losses_table(frames, by="placement")
    counts = table.groupby("line").head(1).groupby("level")["n"].sum()
    assert counts.to_dict() == {"pre": 24, "post": 24}
    assert set(plots.losses_table(frames, by="norm")["level"]) == {"a"}
    many = training_run({"width": [str(n) for n in range(41)]})
    with pytest.raises(ValueError) as raised:
        plots.losses_table(many, by="width")
    assert str(raised.value) == "by: expected a factor of fewer than 41 levels, got 'width'"


def test_a_trial_that_diverged_before_any_loss_is_not_left_out() -> None:
    grid = {"placement": ["pre", "post"]}
    frames = training_run(grid, diverged=[({"placement": "post"}, 0)])
    at = frames.profiles["cell"] == frames.cells["cell"].iloc[1]
    gone = at & (frames.profiles["seed"] == 0)
    frames = replace(frames, profiles=frames.profiles[~gone].reset_index(drop=True))
    table = plots.losses_table(frames, by="placement")
    (never,) = table[table["mean"].isna()].itertuples()
    assert (never.state, never.level, never.x) == ("diverged", "post", 0.0)
    crosses = [line for line in plots.plot_losses(table).lines if line.get_marker() == "x"]
    assert len(crosses) == 1


def test_any_name_can_be_drawn() -> None:
    names = ["base", *EVIL, "$x$", "a$_b$"]
    values = np.random.default_rng(0).normal(5, 1, (len(names), 3))
    frames = make_frames({"$\\frac{$": names}, {"x": values})
    ax = plots.plot_effects(plots.effects_table(comparisons(frames), "x"), unit="$\\a{$")
    ax.figure.canvas.draw()  # would raise where a name is read as mathematics
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert any("$\\frac{$ = $x$" in label for label in labels)
