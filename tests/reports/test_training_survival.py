"""How trainings ended, by setting and learning rate."""

from dataclasses import replace

import pandas as pd

from reports import Frames
from reports.training.survival import survival, survival_finding, survival_section
from tests.reports.simulated_training import training_run

HIGH = {"training.learning_rate": "0.003"}
GRID = {"placement": ["pre", "post"], "training.learning_rate": ["0.0003", "0.001", "0.003"]}


def mixed() -> Frames:
    """Stalls and divergence as planted, a failure, and a cell that has not run yet."""
    frames = training_run(
        GRID,
        diverged=[({"placement": "post", **HIGH}, 0)],
        failed=[({"placement": "pre", **HIGH}, 2)],
    )
    gone = frames.trials["cell"] == frames.cells["cell"].iloc[1]
    trials = frames.trials.assign(state=frames.trials["state"].where(~gone, "missing"))
    kept = frames.metrics["cell"] != frames.cells["cell"].iloc[1]
    return replace(frames, trials=trials, metrics=frames.metrics[kept])


def test_every_trial_is_counted_once() -> None:
    table = survival(mixed())
    counts = [name for name in table.columns if name.startswith("n_") and name != "n_trials"]
    assert counts == [
        "n_learnt", "n_stalled", "n_diverged", "n_failed", "n_not_run", "n_skipped",
    ]  # fmt: skip
    assert table[["setting", "learning_rate"]].to_numpy().tolist() == [
        [f"placement={place}", rate]
        for place in ("pre", "post") for rate in ("0.0003", "0.001", "0.003")
    ]  # fmt: skip
    assert table["n_trials"].to_list() == [3] * 6
    assert (table[counts].sum(axis=1) == 3).all()
    assert table[counts].to_numpy().tolist() == [
        [3, 0, 0, 0, 0, 0], [0, 0, 0, 0, 3, 0], [2, 0, 0, 1, 0, 0],
        [3, 0, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0], [0, 2, 1, 0, 0, 0],
    ]  # fmt: skip


def test_a_row_a_setting_and_a_column_a_rate() -> None:
    table = survival_section(mixed())
    assert table is not None
    assert list(table.columns) == [
        "Setting", "Learning rate 0.0003", "Learning rate 0.001", "Learning rate 0.003",
    ]  # fmt: skip
    assert [list(row) for row in table.rows] == [
        ["placement=pre", "3 learnt", "3 not run", "2 learnt, 1 failed"],
        ["placement=post", "3 learnt", "3 stalled", "2 stalled, 1 diverged"],
    ]
    assert table.caption == (
        "How the trials of each setting ended, of 3 seeds: learnt, stalled, diverged (the loss "
        "became infinite or no number), or without a result."
    )


def test_a_cell_that_is_not_there_is_a_dash() -> None:
    frames = training_run(GRID)
    cell = frames.cells["cell"].iloc[5]
    frames = replace(
        frames,
        cells=frames.cells.iloc[:5],
        trials=frames.trials[frames.trials["cell"] != cell],
        metrics=frames.metrics[frames.metrics["cell"] != cell],
        profiles=frames.profiles[frames.profiles["cell"] != cell],
    )
    table = survival_section(frames)
    assert table is not None
    assert list(table.rows[1]) == ["placement=post", "3 learnt", "3 stalled", "—"]


def test_without_a_rate_to_vary_there_is_one_column() -> None:
    table = survival_section(training_run({"placement": ["pre", "post"]}))
    assert table is not None
    assert list(table.columns) == ["Setting", "Trials"]
    assert [list(row) for row in table.rows] == [
        ["placement=pre", "3 learnt"], ["placement=post", "3 stalled"],
    ]  # fmt: skip


def test_where_trials_stalled_and_diverged_is_said() -> None:
    finding = survival_finding(mixed())
    assert finding is not None
    assert finding.kind == "training"
    assert finding.text == (
        "training: 8 trials learnt, 5 stalled, 1 diverged, 1 failed, 3 not run; stalled: all 5 "
        "with placement = post (of its 9 trials); none with training.learning_rate = 0.0003; "
        "diverged: the one in the cell placement=post training.learning_rate=0.003; losses of "
        "levels of other factors are compared at one learning rate, 0.0003, which may suit some "
        "better."
    )
    plain = survival_finding(training_run({"placement": ["pre"]}))
    assert plain is not None
    assert plain.text == "training: 3 trials learnt."


def test_only_so_many_settings_are_listed() -> None:
    grid = {"width": [str(i) for i in range(130)], "training.learning_rate": ["0.0003"]}
    table = survival_section(training_run(grid, seeds=1))
    assert table is not None
    assert len(table.rows) == 100
    assert table.note == "The first 100 of 130 settings; the rest is in tables/survival.csv."


def test_nothing_trained_is_nothing_to_tell() -> None:
    frames = training_run(GRID)
    none = replace(
        frames,
        trials=frames.trials.iloc[:0],
        metrics=frames.metrics.iloc[:0],
        profiles=frames.profiles.iloc[:0],
    )
    assert survival_section(none) is None
    assert survival_finding(none) is None
    assert isinstance(survival(none), pd.DataFrame)
