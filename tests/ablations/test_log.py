"""DIR/log.jsonl: what is told, how long a line is, what a killed run and the environment leave."""

import io
import json
import logging
import sqlite3
import sys
import warnings
from datetime import UTC, datetime

import pytest

import ablations
from ablations.log import LONGEST, RunLog
from ablations.results import MeasureResult, TrialResult
from ablations.storage.errors import StoreError
from ablations.warned import MOST, collected
from tests.ablations import warners
from tests.ablations.test_engine import GRID


def lines(directory):
    text = (directory / "log.jsonl").read_text(encoding="ascii")
    return [json.loads(line) for line in text.splitlines()]


def trial(**fields):
    measure = {"measure": "flow", "identity": "i", "state": "done", "seconds": 0.5} | fields
    return TrialResult(cell="abc", seed=3, measures=(MeasureResult(**measure),))


def test_a_trial_is_told_with_all_that_explains_it(tmp_path):
    result = trial(state="failed", message="ValueError: no", traceback="Traceback\n x")
    with RunLog(tmp_path) as log:
        log.trial(result, "norm=rmsnorm")
    (told,) = lines(tmp_path)
    moment = datetime.fromisoformat(told.pop("time"))
    assert moment.tzinfo == UTC
    assert told == {
        "level": "ERROR",
        "event": "trial ended",
        "cell": "abc",
        "label": "norm=rmsnorm",
        "seed": 3,
        "state": "failed",
        "seconds": 0.5,
        "measures": {"flow": "failed"},
        "message": "flow: ValueError: no",
        "traceback": "Traceback\n x",
    }


@pytest.mark.parametrize(
    ("state", "level"),
    [("done", "INFO"), ("diverged", "WARNING"), ("crashed", "ERROR"), ("timeout", "ERROR")],
)
def test_the_level_says_how_grave_an_end_is(tmp_path, state, level):
    with RunLog(tmp_path) as log:
        log.trial(trial(state=state), "a")
    assert [told["level"] for told in lines(tmp_path)] == [level]


def test_each_warning_is_a_line_and_each_trial_counts_once(tmp_path):
    with RunLog(tmp_path) as log:
        log.trial(trial(warnings=("UserWarning: a (x.py:1)", "UserWarning: b (x.py:2)")), "a")
        log.trial(trial(), "a")
        assert log.warned == ["UserWarning: a (x.py:1)"]
    told = [line for line in lines(tmp_path) if line["event"] == "trial warned"]
    assert [line["message"] for line in told] == [
        "UserWarning: a (x.py:1)",
        "UserWarning: b (x.py:2)",
    ]
    assert {(line["level"], line["cell"], line["seed"], line["measure"]) for line in told} == {
        ("WARNING", "abc", 3, "flow")
    }


def test_a_line_is_bounded_and_keeps_the_end_of_a_traceback(tmp_path):
    with RunLog(tmp_path) as log:
        log.trial(trial(state="failed", traceback="x\u202e\n" * 100_000 + "ValueError: end"), "a")
    text = (tmp_path / "log.jsonl").read_text(encoding="ascii")
    assert text.count("\n") == 1
    assert len(text) < 8 * LONGEST
    assert json.loads(text)["traceback"].endswith("\nValueError: end")


def test_a_line_that_was_cut_short_spoils_no_other(tmp_path):
    with RunLog(tmp_path) as log:
        log.tell("one")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"time": "20')
    with RunLog(tmp_path) as log:
        log.tell("two")
    first, cut, last = (tmp_path / "log.jsonl").read_text().splitlines()
    assert (json.loads(first)["event"], cut) == ("one", '{"time": "20')
    assert json.loads(last)["event"] == "two"


def test_lines_are_in_the_file_before_the_run_ends(tmp_path):
    with RunLog(tmp_path) as log:
        log.tell("one")
        assert [line["event"] for line in lines(tmp_path)] == ["one"]


@pytest.mark.parametrize(
    ("error", "state"), [(KeyboardInterrupt(), "interrupted"), (RuntimeError("no"), "failed")]
)
def test_how_a_run_was_ended_is_told(tmp_path, error, state):
    with pytest.raises(type(error)), RunLog(tmp_path):
        raise error
    assert [(line["event"], line["state"]) for line in lines(tmp_path)] == [("run ended", state)]


def test_secrets_of_the_environment_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("PLAIN", "a plain value")
    message = "GET http://me:pass@host/x with hunter2hunter2 and a plain value"
    with RunLog(tmp_path, verbose=True) as log:
        log.trial(trial(state="failed", message=message, traceback=message), "a")
    (told,) = lines(tmp_path)
    left = "GET http://…@host/x with (SOME_TOKEN) and a plain value"
    assert (told["message"], told["traceback"]) == (f"flow: {left}", left)


def test_verbose_shows_lines_and_tracebacks_harmlessly(tmp_path, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with RunLog(tmp_path, verbose=True) as log:
        log.trial(trial(state="failed", message="a\nb\x1b[31m", traceback="T\n \x1b[0m x"), "a")
    first, *trace = shown.getvalue().splitlines()
    assert first.partition(" ")[2] == (
        "ERROR trial ended cell=abc label=a seed=3 state=failed seconds=0.5 "
        'measures={"flow": "failed"} message=flow: a\\nb\\x1b[31m'
    )
    assert trace == ["T", " \\x1b[0m x"]


def test_a_folder_that_takes_no_log_is_an_error(tmp_path):
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"^.*log\.jsonl cannot be written: Is a directory$"):
        RunLog(tmp_path)


def test_the_loggers_of_the_process_are_left_alone(tmp_path):
    before = list(logging.getLogger().handlers)
    with RunLog(tmp_path) as log:
        log.tell("one")
    assert logging.getLogger().handlers == before
    assert "ablations.run" not in logging.Logger.manager.loggerDict


@pytest.mark.filterwarnings("default")
def test_warnings_are_collected_once_each_with_their_place():
    with collected() as told:
        for text in ("a\nb\x1b", "c", "c"):
            warnings.warn(text, RuntimeWarning, stacklevel=1)
    place = told[0].rpartition(" (")[2]
    assert place.startswith("test_log.py:")
    assert told == [f"RuntimeWarning: a b\\x1b ({place}", f"RuntimeWarning: c ({place}"]
    with collected() as told:
        for number in range(MOST + 3):
            warnings.warn(str(number), RuntimeWarning, stacklevel=1)
    assert told[MOST:] == ["… and 3 other warnings"]


def test_a_filter_that_makes_warnings_errors_still_does():
    with collected(), pytest.raises(UserWarning, match=r"^a$"):
        warnings.warn("a", UserWarning, stacklevel=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_run_tells_keeps_and_reports_what_its_trials_warn_of(tmp_path):
    catalog = warners.catalog()
    factors = {"norm": ["layernorm", "warning"]}
    grid = ablations.load_grid({**GRID, "factors": factors, "seeds": 2}, catalog)
    summary = ablations.run(grid, tmp_path, executor="inline")
    text = "RuntimeWarning: mind <b>the</b> \\x1b[31mgap $x$ (warners.py:"
    assert [warning.startswith(text) for warning in summary.warned] == [True, True]
    told = lines(tmp_path)
    assert [line["event"] for line in told] == [
        "run started",
        *["trial ended", "trial ended", "trial warned"] * 2,
        "run ended",
    ]
    assert told[0]["environment"]["torch"]
    assert (told[-1]["state"], told[-1]["trials"], told[-1]["warned"]) == ("done", {"done": 4}, 2)
    frames = ablations.open_run(tmp_path).frames()
    kept = frames.warnings.to_dict("records")
    assert [(row["seed"], row["measure"]) for row in kept] == [
        (0, "gradient_flow"),
        (1, "gradient_flow"),
    ]
    assert {row["text"] for row in kept} == set(summary.warned)
    page = summary.report.read_text(encoding="utf-8").replace("<wbr>", "")
    assert "Warnings of trials, by text." in page
    assert "mind &lt;b&gt;the&lt;/b&gt;" in page
    again = ablations.run(grid, tmp_path, executor="inline")
    assert (again.warned, again.reused) == ((), 4)
    assert [line["event"] for line in lines(tmp_path)[-2:]] == ["run started", "run ended"]


def test_a_store_of_the_layout_without_warnings_is_read(tmp_path):
    ablations.run(ablations.load_grid(GRID), tmp_path, executor="inline")
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        for table in ("warnings", "digests"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert ablations.open_run(tmp_path).frames().warnings.empty
