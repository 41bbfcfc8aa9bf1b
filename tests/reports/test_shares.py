"""Shares of variance as a table: factors by primary metrics."""

from dataclasses import replace

import numpy as np

from reports.shares import MAX_METRICS, shares_section
from tests.reports.simulated import default_run, make_frames, set_state

FACTORS = {"a": ["0", "1"], "b": ["0", "1"]}


def test_shares_add_up_with_what_is_in_no_factor_alone() -> None:
    values = np.array([[0.0], [1.0], [2.0], [5.0]]) + np.zeros((4, 2))  # means: a 3, b 2, both 1
    table = shares_section(make_frames(FACTORS, {"x": values}))
    assert table is not None
    assert list(table.columns) == ["Factor", "x"]
    assert table.rows == [
        ["a", "64\u00a0%"],
        ["b", "29\u00a0%"],
        ["in no factor alone", "7\u00a0%"],
    ]
    assert table.note == ""
    assert "over the 4 of 4 cells that have every seed" in table.caption


def test_unbalanced_cells_are_said_to_overlap() -> None:
    values = np.random.default_rng(0).normal(size=(4, 2))
    frames = make_frames(FACTORS, {"x": values, "y": values})
    frames = set_state(frames, frames.trials["cell"] == frames.cells["cell"].iloc[3], "failed")
    table = shares_section(frames)
    assert table is not None
    assert table.rows[-1] == ["in no factor alone", "overlap", "overlap"]
    assert table.note.startswith("Factors are not balanced against each other on x and y: their")
    assert "over the 3 of 4 cells" in table.caption


def test_what_does_not_vary_is_named() -> None:
    values = np.random.default_rng(0).normal(size=(4, 2))
    table = shares_section(make_frames(FACTORS, {"x": values, "still": np.ones((4, 2))}))
    assert table is not None
    assert list(table.columns) == ["Factor", "x"]
    assert table.note == "Not here, as no cell differs or one seed tells no noise: still."
    assert shares_section(make_frames(FACTORS, {"still": np.ones((4, 2))})) is None


def test_no_more_metrics_than_fit() -> None:
    rng = np.random.default_rng(0)
    values = {f"x{i:02}": rng.normal(size=(4, 2)) for i in range(MAX_METRICS + 2)}
    table = shares_section(make_frames(FACTORS, values))
    assert table is not None
    assert len(table.columns) == MAX_METRICS + 1
    assert table.note == "Not here for room: x10 and x11."


def test_primary_metrics_alone_and_the_largest_share_first() -> None:
    frames = default_run(seeds=3)
    table = shares_section(frames)
    assert table is not None
    assert list(table.columns)[1:] == [
        "parameters.total", "gradient_flow.embedding", "gradient_flow.sensitivity_ratio",
    ]  # fmt: skip
    assert [row[0] for row in table.rows[:2]] == ["attention", "placement"]
    none = replace(frames, metric_info=frames.metric_info.assign(primary=False))
    assert shares_section(none) is None


def test_a_run_without_factors_has_none() -> None:
    assert shares_section(make_frames({}, {"x": [[1.0, 2.0]]})) is None


def test_cells_left_out_are_counted_by_reason() -> None:
    rng = np.random.default_rng(0)
    frames = make_frames({"a": ["0", "1"], "b": list("012")}, {"x": rng.normal(size=(6, 3))})
    one, two = frames.cells["cell"].iloc[1], frames.cells["cell"].iloc[2]
    skipped = set_state(frames, frames.trials["cell"] == one, "skipped")
    table = shares_section(skipped)
    assert table is not None
    assert table.note.endswith("do not add up. On x 1 cell left out: 1 skipped.")
    first = (frames.trials["cell"] == two) & (frames.trials["seed"] == 0)
    table = shares_section(set_state(skipped, first, "diverged"))
    assert table is not None
    assert table.note.endswith(
        "On x 2 cells left out: 1 skipped and 1 diverged; of survivors alone, which is no finding."
    )
