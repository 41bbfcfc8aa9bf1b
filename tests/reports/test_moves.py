"""The chart of two runs: both effects of a row at their places, those that moved told apart."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from reports import Frames
from reports.comparison.moved import moved_effects
from reports.plots.moves import describe_moves, moves_table, plot_moves
from reports.plots.style import LIGHT
from reports.training.compared import compare
from tests.reports.simulated import make_frames


def run(effects: tuple[float, float], seed: int) -> Frames:
    values = np.random.default_rng(seed).normal(5, 0.05, (3, 5))
    values[1:] += np.array(effects)[:, None]
    return make_frames({"norm": ["a", "b", "c$"]}, {"x": values})


@pytest.fixture
def table():  # type: ignore[no-untyped-def]
    return moves_table(moved_effects(compare(run((1, 2), 0)), compare(run((1, 3), 1)), ["x"]), "x")


def test_a_row_has_both_effects_with_their_own_intervals(table) -> None:  # type: ignore[no-untyped-def]
    assert table["name"].to_list() == ["norm = c$", "norm = b"]  # what moved is first
    assert table["moved"].to_list() == [True, False]
    with LIGHT.context():
        (axes,) = plot_moves(table, unit="nats").axes
    dots = [line for line in axes.lines if len(line.get_xdata()) == 1]
    places = [(line.get_xdata()[0], line.get_marker()) for line in dots]
    expected = []
    for row in table.itertuples():
        expected += [(row.x_1, "o"), (row.x_2, "D" if row.moved else "s")]
    assert places == expected
    lines = [c.get_segments()[0][:, 0] for c in axes.collections if isinstance(c, LineCollection)]
    np.testing.assert_allclose(lines[0], table.loc[0, ["x_low_1", "x_high_1"]].astype(float))
    np.testing.assert_allclose(lines[1], table.loc[0, ["x_low_2", "x_high_2"]].astype(float))
    assert axes.get_xlabel() == "difference to the baseline level (nats)"


def test_it_is_told_in_words(table) -> None:  # type: ignore[no-untyped-def]
    alt, caption = describe_moves(table, "x", 2)
    assert alt.startswith("Dot chart of 2 effects on x in two runs. norm = c$: +")
    assert alt.count(", moved") == 1
    assert "not read from these intervals" in caption
    assert "rows" not in caption
    assert describe_moves(table.head(1), "x", 2)[1].endswith(" 1 of 2 rows.")
