"""Trials kept apart: whose code a process has run, and what trials leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ablations.executors import handing_out
from ablations.executors.local import Local
from ablations.executors.process_tree import descendants
from ablations.executors.processes import Job, WorkerProcess
from registry.contracts import Execution
from tests.ablations.executors import work
from tests.ablations.executors.test_local import run
from tests.ablations.executors.test_worker import DRIVER
from tests.ablations.executors.watching import alive, wait_for

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows other processes")


def test_a_process_that_ran_a_strangers_code_serves_no_trial_without_it() -> None:
    names = [":0", ":1", "a:2", "a:3", ":4", "b:5", "a,b:6", "a:7", ":8", ":9"]
    outcomes = run([work.For(name) for name in names], work.strangers_so_far, workers=1)
    found = [outcomes[name].result for name in names]
    assert [so_far for _, so_far in found] == [
        [""], ["", ""], ["", "", "a"], ["", "", "a", "a"],  # code of our own leaves nothing
        [""], ["", "b"], ["a,b"], ["a"], [""], ["", ""],
    ]  # fmt: skip
    assert len({process for process, _ in found}) == 5


def test_with_several_workers_none_serves_two_strangers() -> None:
    names = [f"{'ab'[number // 6]}:{number}" for number in range(12)]
    outcomes = run([work.For(name) for name in names], work.strangers_so_far, workers=2)
    assert {len(set(outcomes[name].result[1])) for name in names} == {1}
    # In this order each worker is started anew once at most.
    assert len({outcomes[name].result[0] for name in names}) <= 4


@pytest.mark.parametrize(
    ("ran", "runs", "cost"),
    [("", "", 0), ("a", "a", 0), ("", "a", 1), ("a", "", 2), ("a", "b", 2), ("a", "a,b", 2)],
)
def test_a_process_that_ran_just_that_comes_first_and_then_a_fresh_one(
    ran: str, runs: str, cost: int
) -> None:
    worker = WorkerProcess(work=b"", threads=1, timeout=None)
    worker.strangers = work.For(ran).strangers
    job = Job(trial=work.For(runs), number=0)
    assert (handing_out.cost(job, worker), worker.serves(job)) == (cost, cost < 2)


def test_a_trial_that_says_nothing_runs_no_strangers_code() -> None:
    assert Job(trial=3, number=0).strangers == frozenset()


@linux
def test_what_a_dying_trial_started_ends_with_its_worker(tmp_path: Path) -> None:
    paths = tuple(str(tmp_path / name) for name in "ab")
    outcomes = run([paths], work.start_and_die)
    assert outcomes[paths].message == "its worker process ended with exit code 3"
    processes = [int(Path(path).read_text()) for path in paths]
    assert not any(map(alive, processes))


@linux
def test_what_others_started_goes_on(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        run([(str(tmp_path / "a"),)], work.start_and_die)
        assert alive(other.pid)
    finally:
        other.kill()
        other.wait()


@linux
def test_what_a_trial_started_ends_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER, encoding="utf-8")
    path = tmp_path / "pid"
    driver = subprocess.Popen(
        [sys.executable, str(script), repr(("fork_and_hang", str(path)))],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    wait_for(lambda: path.exists() and path.read_text())
    child = int(path.read_text())
    assert alive(child)
    driver.kill()
    driver.wait()
    wait_for(lambda: not alive(child))


@linux
def test_processes_below_others_are_found_and_dead_ones_are_not() -> None:
    nested = "sleep 60 & sleep 61 & wait"
    shell = subprocess.Popen(["sh", "-c", nested], start_new_session=True)
    try:
        wait_for(lambda: len(descendants(shell.pid)) == 2)
        assert {shell.pid, *descendants(shell.pid)} <= set(descendants(os.getpid()))
    finally:
        os.killpg(shell.pid, 9)
    wait_for(lambda: not descendants(shell.pid))
    assert shell.pid not in descendants(os.getpid())  # dead, and not yet waited for
    shell.wait()


def memory(trials: list[Any], function: Any, limit: int) -> Any:
    execution = Execution(memory=limit * 2**20, timeout=60)
    return {o.trial: o for o in Local().execute(trials, function, execution)}


@linux
def test_a_trial_over_its_memory_limit_is_stopped_and_no_other() -> None:
    # What is to be stopped waits for it, however busy the machine; the others are looked at often.
    trials = [("alone", 400, 50), ("alone", 10, 1), ("apart", 400, 50), ("shared", 150, 1)]
    outcomes = memory(trials, work.use_memory, limit=300)
    for trial in trials[::2]:
        assert outcomes[trial].state == "crashed"
        assert outcomes[trial].message.startswith("stopped as it used ")
        assert outcomes[trial].message.endswith(" MiB of memory, over its limit of 300 MiB")
        used = float(outcomes[trial].message.split()[4])
        assert 300 < used < 500
    # Three processes hold the same 150 MiB, which are there once.
    assert [outcomes[trial].state for trial in trials[1::2]] == ["done", "done"]


@linux
def test_a_trial_is_not_stopped_for_what_those_before_it_kept() -> None:
    trials = [40, 41, 100, 42, 43]
    outcomes = memory(trials, work.keep_memory, limit=300)
    assert {outcome.state for outcome in outcomes.values()} == {"done"}
    # Each process is given up once it has kept more than a quarter of the limit.
    assert [outcomes[trial].result[1] for trial in trials] == [1, 2, 1, 1, 2]


def test_without_a_limit_memory_is_not_looked_at() -> None:
    trial = ("alone", 400, 1)
    assert run([trial], work.use_memory)[trial].state == "done"
