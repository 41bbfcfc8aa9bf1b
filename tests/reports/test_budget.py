"""The figure of parameters: its caption says of dots and bars what can be seen."""

import numpy as np
import pytest

from reports.effects import comparisons
from reports.plots.budget import budget_table, describe_budget
from tests.reports.simulated import make_frames


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, 1.0, 9.0, 9.0], "of 4 cells, by f. Dots: means over the other factors."),
        ([1.0, 3.0, 6.0, 9.0], "of 4 cells, by f and g. Dots: cells."),
        ([5.0, 5.0, 5.0, 5.0], "of 4 cells."),
    ],
)
def test_the_caption_of_a_budget_names_what_is_drawn(values: list[float], said: str) -> None:
    run = make_frames({"f": ["a", "b"], "g": ["c", "d"]}, {"x": np.array(values)[:, None]})
    table = budget_table(run, comparisons(run), "x")
    assert table is not None
    assert describe_budget(table)[1] == f"x {said}"


def test_the_caption_of_a_budget_names_bars_where_they_are_seen() -> None:
    factors = {name: ["0", "1"] for name in "fghi"}
    values = [8 * f + 4 * g + 2 * h + i for f, g, h, i in np.ndindex(2, 2, 2, 2)]
    run = make_frames(factors, {"x": np.array(values, dtype=float)[:, None]})
    table = budget_table(run, comparisons(run), "x")
    assert table is not None
    assert describe_budget(table)[1] == (
        "x of 16 cells, by f, g and h. Dots: means over the other factors; bars: their range."
    )
