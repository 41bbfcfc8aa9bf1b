"""The local executor: its outcomes, one misbehaving trial at a time."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ablations.executors.errors import ExecutorError
from ablations.executors.local import Local, after
from ablations.executors.processes import Job, Loss
from registry.contracts import Execution, Outcome
from tests.ablations.executors import work
from tests.ablations.executors.watching import alive, wait_for


def run(trials: Any, function: Any, **execution: Any) -> dict[Any, Outcome]:
    outcomes = list(Local().execute(trials, function, Execution(**execution)))
    by_trial = {outcome.trial: outcome for outcome in outcomes}
    assert len(by_trial) == len(outcomes), "a trial has two outcomes"
    return by_trial


def test_every_trial_has_its_result() -> None:
    outcomes = run(range(20), work.double, workers=2)
    assert {trial: outcome.result for trial, outcome in outcomes.items()} == {
        trial: 2 * trial for trial in range(20)
    }
    assert {outcome.state for outcome in outcomes.values()} == {"done"}


def test_nothing_to_do_starts_nothing() -> None:
    assert run([], work.double, workers=2) == {}


def test_trials_run_in_as_many_other_processes_as_asked_for(tmp_path: Path) -> None:
    trials = [(str(tmp_path / str(number)), 0.3) for number in range(6)]
    outcomes = run(trials, work.leave_pid_and_sleep, workers=2)
    processes = {outcome.result for outcome in outcomes.values()}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_workers_use_the_threads_asked_for() -> None:
    outcomes = run([0, 1], work.threads_of, threads=3)
    assert {outcome.result for outcome in outcomes.values()} == {"3"}


def test_an_exception_costs_its_trial_alone() -> None:
    outcomes = run([0, 1, 2], work.refuse)
    assert (outcomes[0].state, outcomes[2].state) == ("done", "done")
    assert (outcomes[1].state, outcomes[1].message) == ("failed", "ValueError: odd: 1")
    assert outcomes[1].traceback.endswith("ValueError: odd: 1\n")


@pytest.mark.parametrize(
    ("trial", "state", "message"),
    [
        ("exit 3", "crashed", "its worker process ended with exit code 3"),
        ("exit 0", "crashed", "its worker process ended with exit code 0"),
        (f"signal {signal.SIGKILL:d}", "crashed", "its worker process was killed by SIGKILL"),
        (f"signal {signal.SIGSEGV:d}", "crashed", "its worker process was killed by SIGSEGV"),
        ("hang", "timeout", "stopped after its time limit of 1 s"),
        ("hang-locked", "timeout", "stopped after its time limit of 1 s"),
        ("system-exit", "failed", "SystemExit: enough"),
        ("interrupt", "failed", "KeyboardInterrupt"),
        ("unreadable", "failed", "Unreadable: (its text cannot be read)"),
        (f"signal {signal.SIGSTOP:d}", "timeout", "stopped after its time limit of 1 s"),
        ("large", "done", ""),
    ],
)
def test_a_trial_that_misbehaves_costs_itself_alone(trial: str, state: str, message: str) -> None:
    outcomes = run([trial, "fine"], work.misbehave, workers=1, timeout=1.0)
    assert (outcomes[trial].state, outcomes[trial].message) == (state, message)
    assert (outcomes["fine"].state, outcomes["fine"].result) == ("done", "fine")


def test_a_trial_that_closes_the_pipes_of_its_worker_costs_itself_alone() -> None:
    outcomes = run(["close", "fine"], work.misbehave, workers=1)
    assert outcomes["close"].state == "crashed"
    # Its guard against a lost parent ends it, too, if it sees its own pipe closed before that.
    assert outcomes["close"].message in {
        f"its worker process ended with exit code {errno.EBADF}",
        "its worker process was killed by SIGKILL",
    }
    assert outcomes["fine"].result == "fine"


def test_the_copy_of_a_process_that_forks_ends(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a", "b")]
    outcomes = run(paths, work.fork)
    assert {outcome.result for outcome in outcomes.values()} == {"fine"}
    wait_for(lambda: all(Path(path).exists() and Path(path).read_text() for path in paths))
    wait_for(lambda: not any(alive(int(Path(path).read_text())) for path in paths))


def test_a_result_that_cannot_be_pickled_is_a_failure() -> None:
    outcomes = run(["lambda", "fine"], work.misbehave)
    assert outcomes["lambda"].state == "failed"
    assert "misbehave.<locals>.<lambda>" in outcomes["lambda"].message
    assert outcomes["fine"].state == "done"


def test_a_trial_that_cannot_be_pickled_is_a_failure() -> None:
    trial = threading.Lock()
    outcomes = run([trial, 1], work.double)
    assert outcomes[trial].state == "failed"
    assert outcomes[trial].message == "TypeError: cannot pickle '_thread.lock' object"
    assert outcomes[1].result == 2


def test_a_trial_that_kills_whoever_reads_it_is_crashed() -> None:
    trial = work.PoisonTrial()
    outcomes = run([trial, 1], work.double)
    assert (outcomes[trial].state, outcomes[trial].message) == (
        "crashed",
        "its worker process ended with exit code 7",
    )
    assert outcomes[1].result == 2


def test_work_that_is_not_at_module_level_is_refused() -> None:
    with pytest.raises(
        ExecutorError, match=r"^worker processes need a function defined at the top"
    ):
        run([1], lambda trial: trial)


def test_no_workers_is_refused() -> None:
    with pytest.raises(ExecutorError, match=r"^at least 1 worker is needed, not 0$"):
        run([1], work.double, workers=0)


def test_the_start_of_a_worker_is_not_held_against_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import time\ntime.sleep(1.5)\ndef work(trial): return trial\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import slow_to_import  # type: ignore[import-not-found]

    assert run([1], slow_to_import.work, timeout=1.0)[1].state == "done"


def test_trials_are_taken_as_they_fit() -> None:
    taken: list[int] = []

    def trials() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    outcomes = Local().execute(trials(), work.double, Execution(workers=2))
    for _ in range(10):
        next(outcomes)
    assert len(taken) <= 10 + 2 * 2
    outcomes.close()  # type: ignore[attr-defined]


def test_closing_the_iterator_leaves_no_process(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    trials = [("", "fine"), *((str(path), "hang") for path in paths)]
    trials[0] = (str(tmp_path / "first"), "fine")
    outcomes = Local().execute(trials, work.leave_pid, Execution(workers=2))
    with contextlib.closing(outcomes):  # type: ignore[type-var]
        next(outcomes)
        wait_for(lambda: all(path.exists() and path.read_text() for path in paths))
        processes = [int(path.read_text()) for path in paths]
        assert all(map(alive, processes))
    assert not any(map(alive, processes))


def test_killed_workers_cost_their_own_trials_alone(tmp_path: Path) -> None:
    """Workers are killed at random moments: busy, idle, or while they start."""
    trials = [(str(tmp_path / str(number)), 0.05) for number in range(40)]
    killed: set[int | None] = set()
    outcomes: dict[Any, Outcome] = {}
    over = threading.Event()

    def kill() -> None:
        enough = 0
        while not over.wait(random.uniform(0, 0.1)):
            children = multiprocessing.active_children()
            if children and len(outcomes) >= enough:
                victim = random.choice(children)
                killed.add(victim.pid)
                victim.kill()
                # Three workers in a row lost before they begin would rightly stop the run.
                enough = len(outcomes) + 3

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for outcome in Local().execute(trials, work.leave_pid_and_sleep, Execution(workers=2)):
            assert outcome.trial not in outcomes
            outcomes[outcome.trial] = outcome
    finally:
        over.set()
        killer.join()
    assert set(outcomes) == set(trials)
    assert len(killed) >= 3
    crashed = [outcome for outcome in outcomes.values() if outcome.state == "crashed"]
    assert 0 < len(crashed) <= len(killed)
    assert {o.message for o in crashed} == {"its worker process was killed by SIGKILL"}
    for (path, _), outcome in outcomes.items():
        if outcome.state == "crashed":
            # Without a file, the process was killed between beginning the trial and writing it.
            tried = Path(path).read_text().split() if Path(path).exists() else []
            assert {int(process) for process in tried} <= killed
        else:
            assert (outcome.state, Path(path).read_text()) == ("done", f"{outcome.result}\n")


def test_a_trial_whose_workers_are_lost_again_and_again_is_given_up() -> None:
    loss = Loss(job=Job(trial="unlucky", number=0), exitcode=-signal.SIGKILL)
    assert [after(loss, losses=1) for _ in range(9)] == [None] * 9
    assert after(loss, losses=1) == Outcome(
        trial="unlucky",
        state="crashed",
        message="10 worker processes were lost before it began; the last was killed by SIGKILL",
    )
