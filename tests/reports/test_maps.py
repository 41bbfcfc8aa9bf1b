"""Attention maps: which are chosen, what is loaded, and what is said of the future."""

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports import Frames
from reports.maps import MAX_FIGURES, MAX_PANELS, AttentionMap, MapFigure, attention_maps
from reports.plots.attention import MAX_SIDE, describe_maps, limits, plot_maps, shown, unmasked
from reports.plots.data import figure_data
from reports.plots.style import draw
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_measures import Maps, measured_run

NO_WORDS: dict[str, Any] = {"alt": "", "caption": "", "data": figure_data("figure", "nowhere")}

PAIR = {"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]}


def maps_of(frames: Frames, ranking: list[str] | None = None) -> list[MapFigure]:
    return list(attention_maps(frames, ranking or list(frames.factors["factor"].unique())))


def loaded(frames: Frames) -> list[tuple[str, int, str]]:
    assert isinstance(frames.arrays, Maps)
    return frames.arrays.loaded


def map_of(weights: object, level: str = "baseline") -> AttentionMap:
    return AttentionMap(
        level=level, layer=0, head=0, seed=0, weights=np.asarray(weights, dtype=np.float32)
    )


def test_the_baseline_and_what_is_one_factor_away() -> None:
    (figure,) = maps_of(measured_run(PAIR, seeds=2))
    assert [m.level for m in figure.maps] == ["baseline", "norm = rmsnorm", "placement = post"]
    assert {(m.seed, m.layer, m.head) for m in figure.maps} == {(0, 0, 0)}
    assert figure.left_out == ""


def test_options_of_other_measures_change_no_map() -> None:
    frames = measured_run({**PAIR, "gradient_flow.loss": ["cross_entropy", "sum"]}, seeds=1)
    (figure,) = maps_of(frames)
    assert [m.level for m in figure.maps] == ["baseline", "norm = rmsnorm", "placement = post"]


def test_no_array_is_loaded_that_is_not_drawn() -> None:
    frames = measured_run(PAIR, seeds=3, heads=[(0, 0), (11, 0)])
    figures = attention_maps(frames, list(PAIR))
    assert loaded(frames) == []
    assert len(next(figures).maps) == 6
    assert len(loaded(frames)) == len(set(loaded(frames))) == 6
    assert {seed for _, seed, _ in loaded(frames)} == {0}


def test_the_first_seed_that_is_done() -> None:
    frames = measured_run(PAIR, seeds=2)
    trials = frames.trials
    first = (trials["cell"] == frames.cells["cell"].iloc[0]) & (trials["seed"] == 0)
    (figure,) = maps_of(set_state(frames, first, "failed"))
    assert [m.seed for m in figure.maps] == [1, 0, 0]
    assert "seeds 0 and 1" in describe_maps(figure)[1]


def test_without_the_baseline_the_others_are_drawn_and_it_is_said() -> None:
    frames = measured_run(PAIR, seeds=1)
    first = frames.trials["cell"] == frames.cells["cell"].iloc[0]
    (figure,) = maps_of(set_state(frames, first, "failed"))
    assert [m.level for m in figure.maps] == ["norm = rmsnorm", "placement = post"]
    assert figure.left_out == " The baseline cell has no map."


def test_too_many_cells_take_turns_by_influence() -> None:
    levels = [f"l{i}" for i in range(6)]
    frames = measured_run({"a": levels, "b": [f"m{i}" for i in range(6)]}, seeds=1)
    (figure,) = maps_of(frames, ["b", "a"])
    assert [m.level for m in figure.maps] == [
        "baseline", "a = l1", "a = l2", "a = l3", "b = m1", "b = m2", "b = m3", "b = m4",
    ]  # fmt: skip
    assert len(figure.maps) == MAX_PANELS
    assert "Not drawn: 3 more such cells" in figure.left_out


def test_many_heads_share_figures_and_the_rest_is_counted() -> None:
    frames = measured_run(PAIR, seeds=1, tokens=4, heads=[(0, head) for head in range(12)])
    figures = maps_of(frames)
    assert len(figures) == MAX_FIGURES
    assert [m.head for m in figures[1].maps] == [2, 2, 2, 3, 3, 3]
    assert figures[0].left_out == " Not drawn: 4 more heads."


def test_a_run_without_arrays_has_no_figure() -> None:
    assert maps_of(default_run(seeds=1)) == []
    assert maps_of(replace(measured_run(PAIR, seeds=1), arrays={})) == []


def test_arrays_of_another_name_are_not_attention_maps() -> None:
    frames = measured_run(PAIR, seeds=1)
    cell = frames.cells["cell"].iloc[0]
    other = {(cell, 0, "attention_map.spectrum"): np.ones(3)}
    assert maps_of(replace(frames, arrays=other)) == []


def test_reading_the_future_is_said_loudly() -> None:
    (figure,) = maps_of(measured_run(PAIR, seeds=1, tokens=8, leaks=True))
    leaky = figure.maps[1]  # the last cell one factor away is norm = rmsnorm
    assert (leaky.level, leaky.ahead.size, leaky.n_above) == ("norm = rmsnorm", 28, 28)
    warning = unmasked(figure)
    assert warning.startswith(
        "Reads the future: norm = rmsnorm, layer 0, head 0: 28 of 28 weights above the diagonal "
        "are not zero, the largest 0."
    )
    alt, caption = describe_maps(figure)
    assert "28 of 28 weights above the diagonal are NOT zero: it reads the future" in alt
    assert "baseline, layer 0, head 0: all 28 weights above the diagonal are zero" in alt
    assert "No query sees a later key" not in caption
    titles = [axes.get_title() for axes in panels(plot_maps(figure))]
    assert [title.endswith("READS THE FUTURE") for title in titles] == [False, True, False]


def test_a_single_tiny_weight_ahead_is_found() -> None:
    weights = np.tril(np.full((300, 300), 1e-2, dtype=np.float32))
    weights[3, 200] = 1e-30
    figure = MapFigure(maps=(map_of(weights),), left_out="")
    assert ": 1 of 44,850 weights above the diagonal are not zero, the largest 1·10⁻³⁰." in (
        unmasked(figure)
    )
    drawn = shown(weights)
    assert drawn.shape == (100, 100)
    assert drawn[1, 66] == np.float32(1e-30)  # still not the colour of zero


def test_no_weight_is_shown_as_zero_that_is_not() -> None:
    weights = np.zeros((300, 300), dtype=np.float32)
    weights[10, 4], weights[20, 7] = -0.5, 1e-30
    drawn = shown(weights)
    assert np.argwhere(drawn != 0).tolist() == [[3, 1], [6, 2]]
    assert drawn[3, 1] == -0.5


def test_a_causal_map_is_said_to_be_one() -> None:
    (figure,) = maps_of(measured_run(PAIR, seeds=1))
    assert unmasked(figure) == ""
    assert (
        "No query sees a later key: all weights above the diagonals are zero."
        in (describe_maps(figure)[1])
    )


def test_the_largest_weight_leaves_out_rows_that_see_one_key() -> None:
    figure = MapFigure(maps=(map_of([[1, 0, 0], [0, 1, 0], [0.25, 0.5, 0.25]]),), left_out="")
    assert "largest weight 0.500 among rows that see several keys" in describe_maps(figure)[0]
    figure = MapFigure(maps=(map_of([[1, 0], [0, 1]]),), left_out="")
    assert "no row sees more than one key" in describe_maps(figure)[0]


def test_the_scale_is_of_positive_weights_in_rows_that_see_several_keys() -> None:
    assert limits([map_of([[1, 0], [0.25, 0.75]])]) == pytest.approx((0.25, 0.75))
    assert limits([map_of([[1, 0], [1e-9, 1]])]) == pytest.approx((1e-4, 1))
    low, high = limits([map_of([[1, 0], [0.5, 0.5]])])
    assert low < high
    low, high = limits([map_of([[1, 0], [0, 1]])])
    assert low < high


def test_zeros_have_no_colour_and_are_hatched() -> None:
    (figure,) = maps_of(measured_run(PAIR, seeds=1, tokens=8))
    drawn = plot_maps(figure)
    for axes in panels(drawn):
        (image,) = axes.images
        alpha = np.asarray(image.get_array())[..., 3]
        assert (alpha[np.triu_indices(8, 1)] == 0).all()
        assert (alpha[np.tril_indices(8)] == 255).all()
        assert image.get_interpolation() == "none"
        assert [patch.get_hatch() for patch in axes.patches] == ["////"]
        assert axes.yaxis_inverted()
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["exactly 0"]
    assert drawn.axes[0].get_ylabel() == "query position"
    assert drawn.axes[0].get_xlabel() == "key position"


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_title()]


@pytest.mark.parametrize("tokens", [1, 2, MAX_SIDE, MAX_SIDE + 1, 1000])
def test_any_length_is_drawn_small(tokens: int) -> None:
    weights = np.tril(np.random.default_rng(0).uniform(0, 1, (tokens, tokens)))
    figure = MapFigure(maps=(map_of(weights),), left_out="")
    assert len(shown(figure.maps[0].weights)) <= MAX_SIDE
    caption = describe_maps(figure)[1]
    block = -(-tokens // MAX_SIDE)
    assert (f"Each pixel is the largest of {block} × {block} weights." in caption) == (block > 1)
    drawing = draw(lambda *, theme: plot_maps(figure, theme=theme), **NO_WORDS)
    assert len(drawing.light) < 150_000


def test_the_same_bytes_again_and_nothing_from_outside() -> None:
    (figure,) = maps_of(measured_run(PAIR, seeds=1))
    first, second = (
        draw(lambda *, theme: plot_maps(figure, theme=theme), **NO_WORDS) for _ in range(2)
    )
    assert first == second
    assert first.light != first.dark
    svg = base64.b64decode(first.light.split(",", 1)[1]).decode()
    assert svg.count("data:image/png;base64,") == 4
    assert not re.search(r'href="(?!#|data:image/png;base64,)', svg)


def test_weights_that_are_not_finite_do_not_break_the_figure() -> None:
    weights = np.tril(np.full((4, 4), 0.25))
    weights[2] = np.nan
    figure = MapFigure(maps=(map_of(weights),), left_out="")
    assert draw(lambda *, theme: plot_maps(figure, theme=theme), **NO_WORDS).light
    assert "4 weights are not finite; largest weight 0.250" in describe_maps(figure)[0]
    assert "No query sees a later key" not in describe_maps(figure)[1]
    assert unmasked(figure) == ""
    (image,) = plot_maps(figure).axes[0].images
    pixels = np.asarray(image.get_array())
    assert (pixels[2, :, 3] == 255).all()  # not to be taken for zeros


@pytest.fixture(autouse=True)
def no_warning_of_the_drawing() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield
