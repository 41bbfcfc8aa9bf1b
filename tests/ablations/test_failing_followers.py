"""Plugins that follow a run and go wrong: none can break it, or bend what it finds."""

import logging
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ablations
from ablations import cli, engine
from registry import MissingExtra, hookimpl
from tests.ablations.followers import GRID, Recorder, run, values


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """Writing a report takes longer than these runs."""
    monkeypatch.delenv("ABLATIONS_MLFLOW", raising=False)
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "write_report", lambda out: out / "report.html")
        run(out)
    return values(out)


RAISED = {
    "error": (ValueError("no\nluck"), "ValueError: no luck"),
    "exit": (SystemExit(3), "SystemExit: 3"),
    "late": (MissingExtra("not here"), "MissingExtra: not here"),
}


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        (hook, error)
        for hook in ("run_started", "trial_finished", "run_finished")
        for error in RAISED
        if (hook, error) != ("run_started", "late")
    ],
)
def test_a_follower_that_raises_is_left_out_and_told_once(
    tmp_path, caplog, undisturbed, hook, error
):
    raised, message = RAISED[error]
    calls = []

    def raising(run):
        calls.append(hook)
        raise raised

    before, after = Recorder(), Recorder()
    broken = Recorder()
    setattr(broken, hook, hookimpl(raising))
    with caplog.at_level(logging.WARNING):
        summary = run(tmp_path, before, broken, after)
    assert calls == [hook]
    assert summary.unfollowed == {"p1:plugin": f"{hook} raised {message}"}
    assert caplog.messages == [
        f"plugin p1:plugin follows this run no more: {hook} raised {message}"
    ]
    assert (summary.states, summary.failed) == ({"done": 4}, 0)
    assert values(tmp_path) == undisturbed
    told = ["run_started", *["trial_finished"] * 4, "run_finished"]
    assert before.names() == after.names() == told
    assert broken.names() == told[: told.index(hook)]


def test_a_follower_bends_neither_the_results_nor_what_others_hear(tmp_path, undisturbed):
    class Meddling:
        @hookimpl
        def trial_finished(self, run, trial):
            random.seed(0)
            np.random.seed(0)
            torch.manual_seed(0)
            trial.metrics.clear()
            trial.levels["norm"] = "another"
            run.factors.clear()

        @hookimpl
        def run_finished(self, trials):
            trials.clear()

    recorder = Recorder()
    assert run(tmp_path, Meddling(), recorder).unfollowed == {}
    assert values(tmp_path) == undisturbed
    assert all(event[1].metrics for event in recorder.heard if event[0] == "trial_finished")
    assert recorder.heard[-1][1].factors == {"norm": ("layernorm", "rmsnorm")}
    assert {trial.levels["norm"] for trial in recorder.heard[-1][2]} == {"layernorm", "rmsnorm"}


@pytest.mark.parametrize(
    ("hook", "trials", "state"),
    [
        ("run_started", 0, "interrupted"),
        ("trial_finished", 1, "interrupted"),
        ("run_finished", 4, "done"),
    ],
)
def test_ctrl_c_within_a_hook_is_the_persons(tmp_path, hook, trials, state):
    def stop(run):
        if not stopped:
            stopped.append(run)
            raise KeyboardInterrupt

    stopped = []
    recorder = Recorder()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, recorder, SimpleNamespace(**{hook: hookimpl(stop)}))
    assert recorder.names() == ["run_started", *["trial_finished"] * trials, "run_finished"]
    assert recorder.heard[-1][1].state == state


def test_a_follower_that_was_asked_for_and_cannot_stops_the_run_before_it_begins(tmp_path):
    def missing(run):
        raise MissingExtra("install it")

    recorder = Recorder()
    with pytest.raises(MissingExtra, match=r"^install it$"):
        run(tmp_path, recorder, SimpleNamespace(run_started=hookimpl(missing)))
    assert recorder.names() == ["run_started", "run_finished"]
    assert (recorder.heard[-1][1].state, recorder.heard[-1][2]) == ("failed", [])
    assert values(tmp_path) == []


BROKEN = """
from registry import hookimpl

@hookimpl
def trial_finished(trial):
    raise OSError("disk full")
"""


def test_the_command_says_it_at_once_and_at_the_end(folder, capsys, monkeypatch):
    (folder / "csv_lines.py").write_text(BROKEN)
    (folder / "grid.yaml").write_text(ablations.load_grid(GRID).text)
    monkeypatch.setattr(logging.getLogger("ablations.following"), "handlers", [logging.lastResort])
    arguments = ["run", "grid.yaml", "--executor", "inline", "--plugin", "csv_lines.py"]
    assert cli.run_command_line(arguments) == 0
    told = capsys.readouterr().err.splitlines()
    reason = "trial_finished raised OSError: disk full"
    assert told[0] == f"plugin csv_lines follows this run no more: {reason}"
    assert told[-1] == f"plugin csv_lines did not follow this run to its end: {reason}"
