"""Axes that are squeezed above a break, and panels by two factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.plots.crossed import MUTED, Legend, crossed_panels, legend_of, looks_of
from reports.plots.squeezed import set_squeezed, squeezed
from reports.plots.style import LIGHT, MAX_LEVELS, WIDTH
from tests.reports.simulated_training import training_run

LOSSES = st.lists(st.floats(0.01, 50, allow_nan=False), min_size=1, max_size=6)


@given(near=LOSSES, far=LOSSES)
def test_every_value_has_a_place_and_places_are_in_order(
    near: list[float], far: list[float]
) -> None:
    axis = squeezed(near, far)
    assert axis.low < min(near + far)
    assert max(near + far) < axis.high
    values = np.linspace(axis.low, axis.high, 50)
    places = axis.forward(values)
    assert (np.diff(places) > 0).all()
    assert axis.back(places) == pytest.approx(values)


def test_what_lies_far_above_takes_a_fifth_of_the_axis() -> None:
    axis = squeezed([2.5, 3.3], [5.6])
    low, at, high = axis.forward([axis.low, axis.at, axis.high])
    assert 3.3 < axis.at < 3.4
    assert (high - at) / (high - low) == pytest.approx(0.2)
    near = squeezed([2.5, 3.3], [3.5])
    assert near.at == np.inf
    assert near.forward([3.4]).tolist() == near.back([3.4]).tolist() == [3.4]


def test_without_values_to_read_well_nothing_is_squeezed() -> None:
    assert squeezed([], [3.0, 5.6]).at == np.inf
    assert squeezed([3.0], [1.0, 50.0]).at == np.inf


def test_values_above_the_break_have_ticks_that_do_not_touch() -> None:
    figure = Figure()
    panels = list(figure.subplots(1, 2))
    panels[1].sharey(panels[0])
    set_squeezed(panels, squeezed([2.5, 3.3], [5.6, 5.58]), [5.6, 5.58], LIGHT)
    assert panels[0].get_yticks().tolist() == pytest.approx([2.6, 2.8, 3.0, 3.2, 5.6])
    assert [text.get_text() for text in panels[0].get_yticklabels()] == [
        "2.6", "2.8", "3", "3.2", "5.6",
    ]  # fmt: skip
    assert panels[0].get_ylim() == panels[1].get_ylim()


def test_legends_break_into_as_few_rows_as_fit() -> None:
    def legend(*names: str) -> Legend:
        return Legend(title="", handles=[Line2D([], [], label=name) for name in names])

    assert legend("a", "b", "c").n_columns == 3
    assert legend(*"abcdefghijklmnop").n_columns == 8
    assert legend(*["a long name of a level, as plugins"] * 4).n_columns == 2
    assert legend("a").height < legend(*["a long name of a level, as plugins"] * 4).height


def test_levels_that_cannot_be_told_apart_share_one_entry() -> None:
    frames = training_run({"norm": [f"n{i}" for i in range(MAX_LEVELS + 2)]}, seeds=1)
    levels = [f"n{i}" for i in range(MAX_LEVELS + 2)]
    looks = looks_of(frames, "norm", levels)
    assert [level for level in levels if looks[level] is MUTED] == ["n7", "n8", "n9"]
    legend = legend_of("norm", looks, lambda name, _: Line2D([], [], label=name))
    assert [handle.get_label() for handle in legend.handles] == [*levels[:7], "3 more levels"]
    few = looks_of(frames, "norm", levels[:MAX_LEVELS])
    assert MUTED not in few.values()


def test_panels_are_named_once_and_stay_within_the_page() -> None:
    made = crossed_panels(
        ("placement", ["pre", "post"]), ("training.learning_rate", ["0.00001", "0.1", "1"]), [],
        height=1.5,
    )  # fmt: skip
    assert float(made.figure.get_size_inches()[0]) == pytest.approx(WIDTH)
    titles = [axes.get_title() for axes in made.figure.axes]
    assert titles == ["1·10⁻⁵", "0.1", "1", "", "", ""]
    sides = [text.get_text() for axes in made.figure.axes for text in axes.texts]
    assert sides == ["pre", "post"]
    assert [text.get_text() for text in made.figure.texts] == [
        "training.learning_rate",
        "placement",
    ]
