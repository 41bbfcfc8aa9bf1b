"""Why a value is not compared, from mild to grave."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames, state_findings
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from reports.lost import lost_trials
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


def test_what_is_never_compared_is_in_no_table() -> None:
    rng = np.random.default_rng(0)
    frames = make_frames(
        TWO_BY_FOUR, {"x": rng.normal(size=(8, 3)), "speed": rng.normal(size=(8, 3))}
    )
    info = frames.metric_info.assign(compared=[True, False])
    frames = replace(frames, metric_info=info)
    assert panel(frames).info["metric"].to_list() == ["x"]
    assert panel(frames).values.shape == (1, 8, 3)
    x = frames.metrics.loc[frames.metrics["metric"] == "x", "value"].to_numpy()
    assert panel(frames).values[0].ravel().tolist() == x.tolist()
    for table in (comparisons(frames), interaction_comparisons(frames), cell_table(frames)):
        assert set(table["metric"]) == {"x"}


def diverged_last(value: float, *, defined: bool, marks: str = "") -> Frames:
    """A run whose last cell diverged in its first seed, and left a value there."""
    frames = run(value, "linear")
    rows = (frames.trials["cell"] == frames.cells["cell"].iloc[7]) & (frames.trials["seed"] == 0)
    frames = set_state(frames, rows, "diverged", marks=marks)
    return replace(frames, metric_info=frames.metric_info.assign(defined_when_diverged=defined))


def test_a_metric_that_is_defined_when_diverged_enters_from_there() -> None:
    frames = diverged_last(0.0, defined=True)
    data = panel(frames)
    assert reason(frames) == "used"
    assert data.values[0, 7, 0] == 0
    assert not data.diverged.any()
    assert not has_survivors_only(comparisons(frames)).any()
    assert (comparisons(frames)["n_dropped"] == 0).all()


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (diverged_last(0.0, defined=False), "diverged"),
        (diverged_last(np.nan, defined=True), "diverged"),
        (diverged_last(np.inf, defined=True), "diverged"),
        (diverged_last(0.0, defined=True, marks="cancelled_probe"), "diverged"),
        (without_row(diverged_last(0.0, defined=True)), "diverged"),
    ],
    ids=["not declared", "NaN", "infinite", "cancelled probe", "no row"],
)
def test_else_a_diverged_trial_is_lost(frames: Frames, expected: str) -> None:
    assert reason(frames) == expected
    assert panel(frames).diverged[0, 7, 0]
    assert has_survivors_only(comparisons(frames)).any()


def test_what_was_not_reached_is_last_and_not_called_diverged() -> None:
    """As of steps to a loss: infinite in a trial that is done."""
    frames = run(np.inf, "linear")
    info = frames.metric_info.assign(better="lower", may_be_infinite=True)
    frames = replace(frames, metric_info=info)
    assert reason(frames) == "no value"
    table = comparisons(frames)
    row = table[table["level"] == "b"].iloc[0]
    assert (row["n_no_value"], row["n_diverged"]) == (1, 0)
    told = lost_trials(frames, panel(frames), "x")
    assert told == "1 trial gave no usable value, in the cell norm=b size=4"
    (said,) = [f.text for f in state_findings(frames) if f.factor == "norm"]
    assert said.replace("\u00a0", " ").startswith(
        "x: no conclusion is drawn about norm = b instead of a, as 4 of 16 paired observations "
        "are not used: 1 without a usable value and 3 without their partner in another seed."
    )
    assert "ranked with what is not finite last, it wins " in said


def test_a_metric_without_any_row_is_left_out_once_its_measure_is_done() -> None:
    rng = np.random.default_rng(0)
    frames = make_frames(
        TWO_BY_FOUR, {"x": rng.normal(size=(8, 3)), "accuracy": rng.normal(size=(8, 3))}
    )
    frames = replace(frames, metrics=frames.metrics[frames.metrics["metric"] == "x"])
    assert panel(frames).info["metric"].to_list() == ["x"]
    waiting = replace(frames, trials=frames.trials.assign(state="missing"))
    waiting = replace(waiting, metrics=frames.metrics.iloc[:0])
    assert panel(waiting).info["metric"].to_list() == ["x", "accuracy"]


@pytest.mark.parametrize("state", ["failed", "diverged"])
def test_what_a_cell_has_no_use_for_is_not_lost_by_its_failures(state: str) -> None:
    frames = without_row(run(), seeds=4)
    last = (frames.trials["cell"] == frames.cells["cell"].iloc[7]) & (frames.trials["seed"] == 0)
    lost = set_state(frames, last, state)
    assert reason(lost) == "not applicable"
    assert not has_survivors_only(comparisons(lost)).any()
    # Where no trial of the cell is done nothing tells that.
    all_lost = set_state(frames, frames.trials["cell"] == frames.cells["cell"].iloc[7], state)
    assert reason(all_lost) == state
