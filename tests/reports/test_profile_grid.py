"""Panels of several profiles: slopes that compare, zeros that are right, and what is said."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.curves import curves
from reports.plots.data import figure_data
from reports.plots.profile_grid import ProfileGrid, describe_grid, plot_grid, profile_grid
from reports.plots.style import draw
from reports.plots.summary import ProfileTable, profile_table
from tests.reports.simulated_measures import measured_run

NO_WORDS: dict[str, Any] = {"alt": "", "caption": "", "data": figure_data("figure", "nowhere")}

FACTORS = {"placement": ["pre", "post"], "activation": ["gelu", "swiglu"]}
ROLES = ["q", "gate", "key_bias", "other"]


@pytest.fixture(scope="module")
def frames() -> Frames:
    return measured_run(FACTORS, seeds=2)


def grid_of(frames: Frames, *, same_ratio: bool = True) -> ProfileGrid:
    names = [f"gradient_flow.{role}_gradient_norm" for role in ROLES]
    data = curves(frames)
    tables = [profile_table(frames, name, ["placement"], data[name]) for name in names]
    return profile_grid([t for t in tables if t is not None], ROLES, same_ratio=same_ratio)


def line(means: list[float]) -> ProfileTable:
    rows = pd.DataFrame(
        {"column": "", "hue": "", "x": range(len(means)), "mean": means, "n": 1}
    ).assign(low=means, high=means)
    return ProfileTable(
        profile="p", unit="u", scale="log", axis="depth", rows=rows, hue="", column="",
        n_trials=1, n_absent=0, n_cancelled=0, n_lost=0, left_out="",
    )  # fmt: skip


def test_all_panels_span_the_same_ratio(frames: Frames) -> None:
    figure = plot_grid(grid_of(frames), frames)
    panels = [axes for axes in figure.axes if axes.lines]
    limits = np.array([axes.get_ylim() for axes in panels])
    assert [axes.get_title() for axes in figure.axes] == [
        "q\n(n = 8)", "gate\n(n = 4)", "key_bias\n(n = 8)", "other\n(n = 8)",
    ]  # fmt: skip
    assert len(panels) == 3
    assert np.ptp(np.log(limits[:, 1] / limits[:, 0])) == pytest.approx(0, abs=1e-9)
    assert all(axes.get_yscale() == "log" for axes in panels)


def test_a_gradient_that_is_next_to_zero_is_said_not_drawn(frames: Frames) -> None:
    grid = grid_of(frames)
    assert list(grid.zeros) == [[], [], ["pre", "post"], []]
    figure = plot_grid(grid, frames)
    assert [text.get_text() for text in figure.axes[2].texts] == ["negligible"]
    alt, caption = describe_grid(grid, "gradients")
    assert "key_bias: negligible" in alt
    assert "below 1·10⁻⁵ of the largest profile: key_bias." in caption


def test_what_is_negligible_is_told_for_each_level() -> None:
    def two(pre: float, post: float) -> ProfileTable:
        rows = pd.concat([line([pre, pre]).rows.assign(hue="pre"),
                          line([post, post]).rows.assign(hue="post")])  # fmt: skip
        return ProfileTable(**{**line([1.0]).__dict__, "rows": rows, "hue": "placement"})

    grid = profile_grid([two(1.0, 1.0), two(1e-9, 1e-2)], ["q", "key_bias"], same_ratio=True)
    assert list(grid.zeros) == [[], ["pre"]]
    assert "of the largest profile: key_bias under pre." in describe_grid(grid, "gradients")[1]


def test_captions_say_what_moves_and_where_it_does_not_apply(frames: Frames) -> None:
    _, caption = describe_grid(grid_of(frames), "gradients of parameters (norm)")
    assert caption.startswith("Gradients of parameters (norm), by placement: geometric mean over")
    assert "All panels span the same ratio, so slopes compare." in caption
    assert "Along blocks the mean changes most of other (post), " in caption
    assert "and least of q (pre), " in caption
    assert "Not applicable: gate to 4 trials." in caption


def test_the_ratio_of_what_moves_is_its_largest_over_its_smallest() -> None:
    grid = profile_grid([line([1.0, 4.0, 2.0]), line([5.0, 6.0, 5.0])], ["a", "b"], same_ratio=True)
    _, caption = describe_grid(grid, "profiles")
    assert "changes most of a, 4 times from" in caption
    assert "and least of b, 1.20 times." in caption


def test_profiles_of_different_units_keep_their_own_scales(frames: Frames) -> None:
    figure = plot_grid(grid_of(frames, same_ratio=False), frames)
    first, other = figure.axes[0].get_ylim(), figure.axes[3].get_ylim()
    assert first[1] / first[0] != pytest.approx(other[1] / other[0], rel=0.1)
    assert figure.axes[0].get_title() == "q\n(unit, n = 8)"


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_one_profile_at_several_steps_keeps_one_axis(frames: Frames, scale: str) -> None:
    tables = [replace(line(means), scale=scale) for means in ([1.0, 2.0], [30.0, 40.0])]
    grid = profile_grid(tables, ["step 0", "step 50"], same_limits=True)
    figure = plot_grid(grid, frames)
    first, second = (axes.get_ylim() for axes in figure.axes)
    assert first == second
    assert first[0] < 1 < 40 < first[1]
    assert [axes.get_title() for axes in figure.axes] == ["step 0\n(n = 1)", "step 50\n(n = 1)"]
    _, caption = describe_grid(grid, "profiles of p at training steps")
    mean = "geometric mean" if scale == "log" else "mean"
    assert caption == (
        f"Profiles of p at training steps: {mean} over all other factors and seeds; bands: 10th to "
        "90th percentile of those cells and seeds; n: trials. All panels have the same axis, so "
        "values compare."
    )


@pytest.mark.parametrize(("low", "high"), [(0.008, 900.0), (1e-10, 0.5), (1e-30, 1.0)])
def test_an_axis_over_many_decades_has_no_evenly_spaced_ticks(low: float, high: float) -> None:
    frames = measured_run({"placement": ["pre"]}, seeds=1)
    axes = plot_grid(profile_grid([line([low, high])], ["p"], same_limits=True), frames).axes[0]
    ticks = axes.get_yticks()
    assert len(ticks) >= 2
    assert np.log10(ticks) == pytest.approx(np.round(np.log10(ticks)))


def test_along_steps_not_every_point_has_a_marker(frames: Frames) -> None:
    steps = replace(line([1.0 + i for i in range(120)]), axis="step")
    for axis, every in (("step", 10), ("depth", None)):
        grid = profile_grid([replace(steps, axis=axis)], ["p"])
        (drawn,) = plot_grid(grid, frames).axes[0].lines
        assert drawn.get_markevery() == every


def test_the_same_bytes_again(frames: Frames) -> None:
    grid = grid_of(frames)
    first, second = (
        draw(lambda *, theme: plot_grid(grid, frames, theme=theme), **NO_WORDS) for _ in range(2)
    )
    assert first == second
    assert first.light != first.dark
