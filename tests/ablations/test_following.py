"""Plugins that follow a run: what they hear, and when."""

import math

import pytest

import ablations
from ablations import engine
from registry import RunInfo, TrialInfo, hookimpl
from tests.ablations.followers import GRID, Recorder, run


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """Writing a report takes longer than these runs."""
    monkeypatch.delenv("ABLATIONS_MLFLOW", raising=False)
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def test_a_follower_hears_of_the_start_each_trial_and_the_end(tmp_path):
    recorder = Recorder()
    summary = run(tmp_path, recorder)
    assert summary.unfollowed == {}
    assert recorder.names() == ["run_started", *["trial_finished"] * 4, "run_finished"]
    told = recorder.heard[0][1]
    assert told == RunInfo(
        id=told.id,
        name="small",
        out=tmp_path,
        grid=ablations.load_grid(GRID).text,
        factors={"norm": ("layernorm", "rmsnorm")},
        baseline={"norm": "layernorm"},
        seeds=(0, 1),
        measures=("gradient_flow",),
        trials=4,
    )
    _, ended, trials = recorder.heard[-1]
    assert (ended.id, ended.state, ended.report) == (told.id, "done", tmp_path / "report.html")
    both = ["layernorm", "rmsnorm"]
    assert recorder.seeds() == [(norm, seed) for seed in (0, 1) for norm in both]
    assert [(t.levels["norm"], t.seed) for t in trials] == [(n, s) for n in both for s in (0, 1)]
    one = recorder.heard[1][1]
    assert one in trials
    frames = ablations.open_run(tmp_path).frames()
    expected = frames.metrics.query("cell == @one.cell and seed == 0")
    assert one.metrics == dict(zip(expected["metric"], expected["value"], strict=True))
    assert one == TrialInfo(
        cell=frames.cells.query("norm == 'layernorm'")["cell"].item(),
        label="norm=layernorm",
        levels={"norm": "layernorm"},
        seed=0,
        state="done",
        states={"gradient_flow": "done"},
        messages={},
        metrics=one.metrics,
        marks=(),
        seconds=frames.trials.query("cell == @one.cell and seed == 0")["seconds"].item(),
    )


def test_a_trial_is_on_the_disk_when_it_is_told(tmp_path):
    seen = []

    class Looking:
        @hookimpl
        def trial_finished(self, run, trial):
            states = ablations.open_run(run.out).frames().trials
            seen.append(int((states["state"] == "done").sum()))

    assert run(tmp_path, Looking()).unfollowed == {}
    assert seen == [1, 2, 3, 4]


def test_a_resumed_run_tells_new_trials_as_they_end_and_all_at_its_end(tmp_path):
    first, second, third, afresh = (Recorder() for _ in range(4))
    run(tmp_path / "run", first)
    more = GRID | {"seeds": 3}
    run(tmp_path / "run", second, given=more)
    assert second.heard[0][1].id == first.heard[0][1].id
    assert (second.heard[0][1].trials, second.heard[0][1].reused) == (6, 4)
    assert second.seeds() == [("layernorm", 2), ("rmsnorm", 2)]
    assert len(second.heard[-1][2]) == 6
    run(tmp_path / "run", third, given=more)
    assert third.names() == ["run_started", "run_finished"]
    assert len(third.heard[-1][2]) == 6
    run(tmp_path / "run", afresh, fresh=True)
    assert afresh.heard[0][1].id != first.heard[0][1].id
    assert len(afresh.seeds()) == 4


def test_a_trial_of_which_a_measure_was_there_is_told_whole(tmp_path):
    recorder = Recorder()
    run(tmp_path)
    run(tmp_path, recorder, given=GRID | {"measures": ["gradient_flow", "parameters"]})
    trials = [event[1] for event in recorder.heard if event[0] == "trial_finished"]
    assert [sorted(trial.states) for trial in trials] == [["gradient_flow", "parameters"]] * 4
    assert all({"gradient_flow.loss", "parameters.total"} <= t.metrics.keys() for t in trials)


def test_what_went_wrong_in_a_trial_is_told(tmp_path):
    recorder = Recorder()
    levels = {"factors": {"norm": ["layernorm", "raising", "exploding"]}, "seeds": 1}
    summary = run(tmp_path, recorder, given=GRID | levels)
    assert summary.lost == 1
    trials = {trial.levels["norm"]: trial for trial in recorder.heard[-1][2]}
    assert {name: t.state for name, t in trials.items()} == {
        "layernorm": "done",
        "raising": "failed",
        "exploding": "diverged",
    }
    assert trials["raising"].messages == {"gradient_flow": "RuntimeError: not today"}
    assert trials["raising"].metrics == {}
    assert math.isnan(trials["exploding"].metrics["gradient_flow.loss"])
    assert recorder.heard[-1][1].state == "done"


def test_a_follower_may_leave_a_run_alone(tmp_path, monkeypatch):
    class Uninterested(Recorder):
        @hookimpl
        def run_started(self, run):
            super().run_started(run)
            return False

    uninterested = Uninterested()
    asked = []
    monkeypatch.setattr("ablations.store.Store.trials", lambda *args: asked.append(args))
    assert run(tmp_path, uninterested).unfollowed == {}
    assert uninterested.names() == ["run_started"]
    assert asked == []  # nobody listens, so nothing is read


def test_ctrl_c_and_an_error_of_the_run_are_told(tmp_path):
    def stop(state):
        raise error

    for error, state in ((KeyboardInterrupt(), "interrupted"), (OSError("disk full"), "failed")):
        recorder = Recorder()
        with pytest.raises(type(error)):
            run(tmp_path / state, recorder, ended=stop)
        assert recorder.names() == ["run_started", "trial_finished", "run_finished"]
        _, ended, trials = recorder.heard[-1]
        assert (ended.state, ended.report, len(trials)) == (state, None, 1)


def test_a_run_that_stops_at_a_failure_is_told_as_stopped(tmp_path):
    recorder = Recorder()
    given = GRID | {"factors": {"norm": ["raising", "layernorm"]}}  # without strangers comes first
    assert run(tmp_path, recorder, given=given, fail_fast=True).stopped
    assert recorder.names() == ["run_started", *["trial_finished"] * 2, "run_finished"]
    assert recorder.heard[-1][1].state == "stopped"
