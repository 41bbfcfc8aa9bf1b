"""The table of cells: what stands in it, its numbers with all digits, its shades."""

import numpy as np
import pytest

from reports.cells_section import MAX_CELLS, CellsTable, Entry, cells_section
from tests.reports.simulated import make_frames, set_state

FACTORS = {"f": ["a", "b", "c", "d", "e"]}


def section(means: list[float], scale: str = "linear", **factors: list[str]) -> CellsTable:
    values = np.repeat(np.array(means)[:, None], 2, axis=1)
    found = cells_section(make_frames(factors or FACTORS, {"m.x": values}, scale=scale))
    assert found is not None
    return found


def test_a_row_has_levels_means_and_changes_with_all_their_digits() -> None:
    found = section([1 / 3, 1.0, 2.0, 3.0, 4.0])
    assert [(c.name, c.role, c.exported) for c in found.columns] == [
        ("f", "name", "f"),
        ("m.x", "mean", "m.x"),
        ("m.x: change", "change", "m.x: difference from the baseline"),
    ]
    assert list(found.rows[0]) == [Entry(text="a"), Entry(text="0.333", value=repr(1 / 3)),
                                   Entry(text="—")]  # fmt: skip
    assert found.rows[2][2] == Entry(text="+1.67", value=repr(2 - 1 / 3), shade="up-2")
    assert found.baseline == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("scale", "means", "shades"),
    [
        ("linear", [0, 9, -7, 4, 0.5], ["", "up-3", "down-3", "up-2", ""]),
        ("linear", [5, 5, 5, 5, 5], [""] * 5),
        ("log", [1, 2**9, 2**-7, 2**-2, 2**0.5], ["", "up-3", "down-3", "down-1", ""]),
        ("linear", [0, 1e-9, 0, 0, 0], ["", "up-3", "", "", ""]),
    ],
    ids=["differences", "no change", "ratios", "one small change"],
)
def test_changes_are_shaded_beside_the_largest_of_their_column(
    scale: str, means: list[float], shades: list[str]
) -> None:
    assert [row[2].shade for row in section(means, scale).rows] == shades


def test_the_largest_number_there_may_be_is_shaded() -> None:
    found = section([1e-149, 1e149, 1e-40, 1e-149, 1e-148], scale="log")
    assert [row[2].shade for row in found.rows] == ["", "up-3", "up-2", "", ""]


def test_the_largest_is_that_of_all_cells_not_of_those_listed() -> None:
    n = MAX_CELLS + 1
    levels = [f"l{i}" for i in range(n)]
    found = section([0.0, 3.0, *[0.0] * (n - 3), 9.0], f=levels)
    assert len(found.rows) == MAX_CELLS
    assert found.rows[1][2].shade == "up-2"


def test_what_was_lost_has_no_number() -> None:
    frames = make_frames({"f": ["a", "b"]}, {"m.x": np.ones((2, 2))})
    lost = (frames.trials["cell"] == frames.cells["cell"].iloc[1]) & (frames.trials["seed"] == 0)
    found = cells_section(set_state(frames, lost, "failed", message="boom"))
    assert found is not None
    assert list(found.rows[1][1:]) == [Entry(text="failed (1 of 2)"), Entry(text="—")]


def test_cells_of_many_factors_are_told_by_their_labels() -> None:
    factors = {f"f{i}": ["a", "b"] if i == 0 else ["a"] for i in range(9)}
    found = section([1.0, 2.0], **factors)
    assert found.columns[0].name == "Cell"
    assert found.rows[1][0].text.startswith("f0=b")


def test_without_a_primary_metric_there_is_none() -> None:
    assert cells_section(make_frames({"f": ["a", "b"]}, {})) is None
