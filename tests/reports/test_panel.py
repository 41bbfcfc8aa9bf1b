"""Why a value is not compared, from mild to grave."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from reports.panel import REASONS, panel
from reports.ranking import has_survivors_only
from reports.tables import cell_table
from tests.reports.simulated import make_frames, set_state

TWO_BY_FOUR = {"norm": ["a", "b"], "size": ["1", "2", "3", "4"]}


def run(value: float = 1.0, scale: str = "log") -> Frames:
    values = np.random.default_rng(2).uniform(1, 2, size=(8, 4))
    values[7, 0] = value
    return make_frames(TWO_BY_FOUR, {"x": values}, scale=scale)


def without_row(frames: Frames, seeds: int = 1) -> Frames:
    """The same run without rows for the last cell's first seeds."""
    last = frames.metrics["cell"] == frames.cells["cell"].iloc[7]
    last &= frames.metrics["seed"] < seeds
    return replace(frames, metrics=frames.metrics[~last])


def reason(frames: Frames) -> str:
    return REASONS[panel(frames).reason[0, 7, 0]]


def test_a_metric_that_some_seeds_of_a_cell_have_is_lost_to_the_others() -> None:
    """As of steps to a target that some seeds never reach: what is there flatters."""
    frames = without_row(run())
    assert reason(frames) == "no value"
    assert not panel(frames).diverged.any()
    table = comparisons(frames)
    assert has_survivors_only(table)[table["level"] == "b"].all()
    assert cell_table(frames)["state"].to_list() == [""] * 7 + ["no value"]
    # A seed that failed says nothing of the cell.
    last = (frames.trials["cell"] == frames.cells["cell"].iloc[7]) & (frames.trials["seed"] > 0)
    assert reason(set_state(frames, last, "failed")) == "not applicable"


def test_a_cell_without_a_row_has_no_such_thing_and_nothing_is_lost() -> None:
    frames = without_row(run(), seeds=4)
    assert reason(frames) == "not applicable"
    for table in (comparisons(frames), interaction_comparisons(frames)):
        row = table[table["level"] == "b"].iloc[-1]
        assert list(row[["n_not_applicable", "n_no_value"]]) == [4, 0]
        assert row["n_dropped"] > 0
        assert not has_survivors_only(table).any()
        assert np.isfinite(row["estimate"]) == ("factor_2" not in table)  # the one group of four
    assert cell_table(frames)["state"].to_list() == [""] * 7 + ["not applicable"]


@pytest.mark.parametrize(
    ("scale", "value", "diverged"),
    [("linear", np.nan, True), ("linear", np.inf, True), ("linear", 1e200, False),
     ("log", np.nan, True), ("log", -np.inf, True), ("log", 0.0, False), ("log", -1.0, False),
     ("log", 1e200, False)],
)  # fmt: skip
def test_a_value_that_cannot_be_compared_is_lost(scale: str, value: float, diverged: bool) -> None:
    frames = run(value, scale)
    assert reason(frames) == "no value"
    assert panel(frames).diverged[0, 7, 0] == diverged
    table = comparisons(frames)
    assert has_survivors_only(table)[table["level"] == "b"].all()
    assert table.loc[table["level"] == "b", "n_no_value"].iloc[0] == 1


@pytest.mark.parametrize(
    ("state", "marks", "expected"),
    [
        ("missing", "", "not run"),
        ("skipped", "", "skipped"),
        ("done", "cancelled_probe", "marked"),
        ("failed", "", "failed"),
        ("diverged", "", "diverged"),
    ],
)
def test_what_became_of_the_trial_counts_before_a_missing_row(
    state: str, marks: str, expected: str
) -> None:
    frames = run()
    trials = frames.trials
    rows = (trials["cell"] == frames.cells["cell"].iloc[7]) & (trials["seed"] == 0)
    assert reason(without_row(set_state(frames, rows, state, marks=marks))) == expected


def test_of_two_reasons_the_graver_counts() -> None:
    assert (
        *("used", "not run", "skipped", "not applicable", "marked", "no value"),
        *("failed", "diverged"),
    ) == REASONS


def test_one_metric_of_a_panel() -> None:
    values = np.random.default_rng(0).normal(size=(8, 3))
    data = panel(make_frames(TWO_BY_FOUR, {"x": values, "y": -values}))
    assert data.only("y").values.tolist() == [(-values).tolist()]
    assert data.only("y").info["metric"].to_list() == ["y"]


def test_a_measure_that_does_not_apply_is_no_loss() -> None:
    frames = make_frames({"attention": ["mha", "mean"]}, {"x": np.arange(4.0).reshape(2, 2)})
    mean = frames.trials["cell"] == frames.cells["cell"].iloc[1]
    trials = frames.trials.assign(
        state=np.where(mean, "skipped", "done"),
        message=np.where(mean, "not applicable: no attention offers its weights", ""),
    )
    table = comparisons(replace(frames, trials=trials))
    assert table["n_not_applicable"].tolist() == [2]
    assert table["n_skipped"].tolist() == [0]
