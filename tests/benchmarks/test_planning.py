"""The grids that are planned have as many cells as they say, and are planned whole."""

from __future__ import annotations

import math

import pytest

from ablations import load_grid
from ablations.combinations import count
from tests.benchmarks.planning import SIZES, of_options, of_parts, planning_rows


@pytest.mark.parametrize("cells", SIZES)
def test_a_grid_has_as_many_cells_as_it_is_asked_for(cells: int) -> None:
    assert math.prod(len(levels) for levels in of_parts(cells)["factors"].values()) == cells
    assert math.prod(len(levels) for levels in of_options(cells)["factors"].values()) == cells
    assert count(load_grid(of_parts(cells))) == cells


@pytest.mark.slow
def test_a_row_tells_of_one_grid() -> None:
    rows = list(planning_rows([1_000]))
    assert [(row["grid"], row["cells"]) for row in rows] == [("parts", 1_000), ("options", 1_000)]
    assert [row["skipped"] for row in rows] == [50, 0]  # a norm of queries where there is none
