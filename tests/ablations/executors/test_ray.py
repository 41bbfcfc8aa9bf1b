"""The Ray executor on three nodes: what trials do there, and what becomes of them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ablations.executors.errors import ExecutorError
from ablations.executors.local import Local
from ablations.executors.ray import Ray
from registry.contracts import Execution, Outcome
from tests.ablations.executors import work
from tests.ablations.executors.nodes import Nodes, nodes
from tests.ablations.executors.watching import alive, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    with nodes(2) as started:
        yield started


def run(trials: Any, function: Any, *, options: Any = None, **execution: Any) -> dict[Any, Outcome]:
    execution = {"workers": 2, **execution}
    outcomes = list(Ray(**(options or {})).execute(trials, function, Execution(**execution)))
    by_trial = {outcome.trial: outcome for outcome in outcomes}
    assert len(by_trial) == len(outcomes), "a trial has two outcomes"
    return by_trial


def test_every_trial_has_its_result_and_nodes_are_told(cluster: Nodes) -> None:
    ray = Ray()
    told: list[str] = []
    ray.follow(told.append)
    workers = ray.workers(Execution(), "cpu")
    outcomes = list(ray.execute(range(40), work.double, Execution(workers=workers)))
    assert {outcome.trial: outcome.result for outcome in outcomes} == {
        trial: 2 * trial for trial in range(40)
    }
    assert {outcome.state for outcome in outcomes} == {"done"}
    assert told == ["Ray: 3 nodes, 2 CPUs; up to 2 trials at a time"]


def test_nothing_to_do_starts_nothing(cluster: Nodes) -> None:
    assert run([], work.double) == {}


def test_trials_run_in_a_process_of_each_node(cluster: Nodes, tmp_path: Path) -> None:
    trials = [(str(tmp_path / str(number)), 0.3) for number in range(8)]
    processes = {outcome.result for outcome in run(trials, work.leave_pid_and_sleep).values()}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_workers_use_the_threads_asked_for(cluster: Nodes) -> None:
    outcomes = run([0], work.threads_of, options={"cpus": 1.0}, threads=3)
    assert outcomes[0].result == "3"


def test_trials_that_misbehave_end_as_with_local_workers(cluster: Nodes) -> None:
    trials = [
        "fine", "exit 3", "exit 0", f"signal {signal.SIGKILL:d}", f"signal {signal.SIGSEGV:d}",
        "hang", "hang-locked", "system-exit", "interrupt", "unreadable", "lambda", "close", "large",
    ]  # fmt: skip
    there = run(trials, work.misbehave, timeout=2.0)
    here = {
        outcome.trial: outcome
        for outcome in Local().execute(trials, work.misbehave, Execution(workers=2, timeout=2.0))
    }
    told = {trial: (outcome.state, outcome.message) for trial, outcome in there.items()}
    locally = {trial: (outcome.state, outcome.message) for trial, outcome in here.items()}
    # One that closes its worker's pipes is ended in one of two ways, here and there.
    assert (told.pop("close")[0], locally.pop("close")[0]) == ("crashed", "crashed")
    assert told == locally
    assert told["exit 3"] == ("crashed", "its worker process ended with exit code 3")
    assert told["hang"] == ("timeout", "stopped after its time limit of 2 s")
    assert len(there["large"].result) == 5_000_000


def test_a_trial_over_its_memory_is_stopped(cluster: Nodes) -> None:
    trials = [("alone", 600, 60.0), ("alone", 1, 0.0)]
    outcomes = run(trials, work.use_memory, memory=2**29)
    assert outcomes[trials[0]].state == "crashed"
    assert re.fullmatch(
        r"stopped as it used \d+ MiB of memory, over its limit of 512 MiB",
        outcomes[trials[0]].message,
    )
    assert outcomes[trials[1]].state == "done"


def test_a_process_that_ran_a_strangers_code_serves_no_trial_without_it(cluster: Nodes) -> None:
    names = [":0", ":1", "a:2", "a:3", ":4", "b:5"]
    outcomes = run([work.For(name) for name in names], work.strangers_so_far, workers=1)
    found = [outcomes[name].result[1] for name in names]
    assert found == [[""], ["", ""], ["", "", "a"], ["", "", "a", "a"], [""], ["", "b"]]


def test_a_trial_or_a_result_that_does_not_travel_is_a_failure(cluster: Nodes) -> None:
    lock, poison = threading.Lock(), work.PoisonTrial()
    outcomes = run([lock, poison, 1], work.double)
    assert (outcomes[lock].state, outcomes[lock].message) == (
        "failed",
        "TypeError: cannot pickle '_thread.lock' object",
    )
    assert (outcomes[poison].state, outcomes[poison].message) == (
        "crashed",
        "its worker process ended with exit code 7",
    )
    assert outcomes[1].result == 2


def test_trials_are_taken_as_they_fit(cluster: Nodes) -> None:
    taken: list[int] = []

    def trials() -> Iterator[int]:
        for number in range(10_000):
            taken.append(number)
            yield number

    outcomes = Ray().execute(trials(), work.double, Execution(workers=2))
    for _ in range(10):
        next(outcomes)
    assert len(taken) <= 10 + 2 * 2
    outcomes.close()  # type: ignore[attr-defined]


def test_closing_the_iterator_leaves_no_process(cluster: Nodes, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    trials = [(str(tmp_path / "first"), "fine"), *((str(path), "hang") for path in paths)]
    outcomes = Ray().execute(trials, work.leave_pid, Execution(workers=2))
    with contextlib.closing(outcomes):  # type: ignore[type-var]
        next(outcomes)
        wait_for(lambda: all(path.exists() and path.read_text() for path in paths))
        processes = [int(path.read_text()) for path in paths]
        assert all(map(alive, processes))
    wait_for(lambda: not any(map(alive, processes)), seconds=5)
    wait_for(lambda: cluster.ray.available_resources().get("CPU") == 2.0)


def test_a_lost_node_costs_its_trials_which_run_again_elsewhere(
    cluster: Nodes, tmp_path: Path
) -> None:
    third = cluster.add()
    try:
        ray = Ray()
        told: list[str] = []
        ray.follow(told.append)
        trials = [(str(tmp_path / str(number)), 1.0) for number in range(9)]
        outcomes = []
        for outcome in ray.execute(trials, work.leave_pid_and_sleep, Execution(workers=3)):
            outcomes.append(outcome)
            if len(outcomes) == 3:
                cluster.kill(third)
        assert {outcome.trial for outcome in outcomes} == set(trials)
        assert {outcome.state for outcome in outcomes} == {"done"}
        tries = [Path(path).read_text().split() for path, _ in trials]
        assert sorted(map(len, tries)) == [1] * 8 + [2]
        assert told[0] == "Ray: 4 nodes, 3 CPUs; up to 3 trials at a time"
        assert re.fullmatch(
            r"node 127\.0\.0\.2 \(\w{8}\) (was lost|answers no more|lost Ray's process that kept "
            r"it); what ran there runs again elsewhere",
            told[1],
        )
        assert len(told) == 2
    finally:
        with contextlib.suppress(Exception):
            cluster.kill(third)
        wait_for(lambda: sum(node["Alive"] for node in cluster.ray.nodes()) == 3)


@pytest.mark.parametrize("retries", [0, 1])
def test_a_trial_that_loses_its_keeper_again_and_again_is_given_up(
    cluster: Nodes, retries: int
) -> None:
    """Ray's own process on the node is what the system killed, not the trial's."""
    outcomes = run(["kill", "fine"], work.kill_the_keeper, options={"retries": retries}, workers=1)
    assert outcomes["fine"].state == "done"
    assert outcomes["kill"].state == "crashed"
    assert re.fullmatch(
        rf"was lost with its node {retries + 1} times; the last time node "
        r"127\.0\.0\.2 \(\w{8}\) (lost Ray's process that kept it|answers no more)",
        outcomes["kill"].message,
    )


def test_a_plugin_that_a_node_lacks_is_named_with_its_version(
    cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacked.py").write_text("a = 1\n", encoding="utf-8")
    info = tmp_path / "my_lacked-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lacked\nVersion: 1.2\n")
    (info / "top_level.txt").write_text("lacked\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = (
        r"^node 127\.0\.0\.2 \(\w{8}\) cannot run these trials: my-lacked 1\.2 is needed, none is "
        r"there; install there what is installed here$"
    )
    with pytest.raises(ExecutorError, match=words):
        run([work.For("lacked:1")], work.strangers_so_far)


def test_a_cluster_without_room_is_told(cluster: Nodes) -> None:
    words = (
        r"^no node has room for a trial, which takes 1 CPU and 0\.5 GPU; the cluster has 3 nodes, "
        r"2 CPUs\. For one that grows when asked, say how many trials to run at a time "
        r"\(--workers\)$"
    )
    with pytest.raises(ExecutorError, match=words):
        Ray(gpus=0.5).workers(Execution(), "cpu")


def test_work_that_is_not_at_module_level_is_refused(cluster: Nodes) -> None:
    with pytest.raises(
        ExecutorError, match=r"^worker processes need a function defined at the top"
    ):
        run([1], lambda trial: trial)


def test_the_process_of_a_trial_has_nothing_of_rays(cluster: Nodes) -> None:
    loaded, path = run([0], work.loaded_modules)[0].result
    assert not {name for name in loaded if name.partition(".")[0] == "ray"}
    assert not [folder for folder in path if "site-packages/ray" in folder]


def test_another_version_of_this_package_is_refused(
    cluster: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ablations.executors.ray.version", lambda name: "9.9")
    words = f"ablations 9.9 is needed, {re.escape(version('ablations'))} is there"
    with pytest.raises(ExecutorError, match=words):
        run([1], work.double)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows other processes")
def test_what_a_trial_left_running_ends_with_the_run(cluster: Nodes, tmp_path: Path) -> None:
    path = tmp_path / "left"
    run([(str(path),)], work.start_and_die)
    wait_for(lambda: not alive(int(path.read_text())))
