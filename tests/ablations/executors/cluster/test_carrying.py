"""What becomes of trials whose nodes are unfit, lost or silent; Ray itself is made up here."""

from __future__ import annotations

import itertools
import pickle
import socket
from typing import Any

import pytest

from ablations.executors.cluster.carrying import Carrying
from ablations.executors.cluster.slots import Shares
from ablations.executors.errors import ExecutorError
from registry.contracts import Outcome
from tests.ablations.executors.cluster.fake_ray import NEVER, FakeRay, RayError, RayTaskError

NODE = "n" * 56
BEGUN = (NODE, "", {})
DONE = Outcome(trial=None, result=pickle.dumps(3))


def carried(ray: Any, trials: Any, *, retries: int = 0, **shares: Any) -> tuple[Any, list[str]]:
    told: list[str] = []
    given = {"timeout": None, "where": {}, **shares}
    made = Shares(version="1", setup=b"", demand={"CPU": 1, "GPU": 0.5, "memory": 2**30}, **given)
    run = Carrying(ray, made, 1, retries, told.append)
    return run.carry_out(trials), told


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of which each look takes ten seconds."""
    seconds = itertools.count(0.0, 10.0)
    for module in ("carrying", "slots"):
        monkeypatch.setattr(
            f"ablations.executors.cluster.{module}.time.monotonic", lambda: next(seconds)
        )
    monkeypatch.setattr("ablations.executors.cluster.head.time.sleep", lambda seconds: None)


def test_a_node_that_lacks_something_ends_the_run() -> None:
    ray = FakeRay(begin=[(NODE, "torch 2 is needed, 1 is there", {})])
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == (
        "node 10.0.0.2 (nnnnnnnn) cannot run these trials: torch 2 is needed, 1 is there; install "
        "there what is installed here"
    )
    assert ray.killed == 1


def test_a_node_whose_figures_would_differ_ends_the_run() -> None:
    there = {"machine": "x86_64", "instructions": "AVX2", "device": "cpu"}
    ray = FakeRay(begin=[(NODE, "", there)])
    outcomes, _ = carried(ray, [1], where={**there, "instructions": "AVX512"})
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == (
        "node 10.0.0.2 (nnnnnnnn) cannot run these trials: it has instructions AVX2, and the "
        "figures of this run are of machine x86_64, instructions AVX512, device cpu; leave it out, "
        "or run them apart"
    )


def test_a_node_that_lacks_a_plugin_ends_the_run() -> None:
    ray = FakeRay(begin=[BEGUN], carry_out=["my-plugin 1.2 is needed, 1.1 is there"])
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError, match=r"my-plugin 1\.2 is needed, 1\.1 is there; install"):
        list(outcomes)


def test_a_trial_of_a_lost_node_runs_again_as_often_as_is_asked() -> None:
    ray = FakeRay(begin=[BEGUN] * 3, carry_out=[RayError(), RayError(), DONE])
    outcomes, told = carried(ray, ["a"], retries=2)
    assert list(outcomes) == [Outcome(trial="a", result=3)]
    lost = "node 10.0.0.2 (nnnnnnnn) lost Ray's process that kept it"
    assert told == [
        "Ray: 1 node, 4 CPUs; up to 1 trials at a time",
        *[f"{lost}; what ran there runs again elsewhere"] * 2,
    ]


def test_one_that_is_lost_once_too_often_is_crashed() -> None:
    ray = FakeRay(begin=[BEGUN] * 2, carry_out=[RayError(), RayError()])
    outcomes, _ = carried(ray, ["a"], retries=1)
    lost = "node 10.0.0.2 (nnnnnnnn) lost Ray's process that kept it"
    message = f"was lost with its node 2 times; the last time {lost}"
    assert list(outcomes) == [Outcome(trial="a", state="crashed", message=message)]


def test_a_node_is_told_to_be_lost_once() -> None:
    ray = FakeRay(begin=[BEGUN] * 3, carry_out=[RayError(), RayError(), DONE])
    ray.alive.clear()
    outcomes, told = carried(ray, ["a"], retries=2)
    assert len(list(outcomes)) == 1
    assert told[1:] == ["node 10.0.0.2 (nnnnnnnn) was lost; what ran there runs again elsewhere"]


def test_where_nothing_can_begin_the_run_ends() -> None:
    ray = FakeRay(begin=[RayError(f"no {number}") for number in range(9)])
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == (
        "5 times in a row no trial could be begun in the cluster; the last time no 4; the trials "
        "left have not been run"
    )


def test_what_goes_wrong_in_our_own_part_of_a_node_ends_the_run() -> None:
    ray = FakeRay(begin=[BEGUN], carry_out=[RayTaskError("no module named x")])
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == "node 10.0.0.2 (nnnnnnnn): RayTaskError: no module named x"


def test_a_node_that_does_not_answer_costs_the_trial_its_time_limit() -> None:
    ray = FakeRay(begin=[BEGUN] * 2, carry_out=[NEVER, DONE])
    outcomes, _ = carried(ray, ["a", "b"], timeout=1.5)
    message = "stopped after its time limit of 1.5 s; its node did not answer"
    assert list(outcomes) == [
        Outcome(trial="a", state="timeout", message=message),
        Outcome(trial="b", result=3),
    ]


def test_where_the_connection_is_lost_the_run_ends_and_nothing_more_is_asked_of_ray() -> None:
    ray = FakeRay(begin=[BEGUN], carry_out=[ConnectionError("Client is shutting down.")])
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == (
        "the Ray cluster is lost (ConnectionError: Client is shutting down.); the trials left have "
        "not been run"
    )
    assert ray.killed == 0


def test_where_the_head_is_gone_nobody_is_asked_which_node_was_lost() -> None:
    ray = FakeRay(begin=[BEGUN], carry_out=[RayError()])
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray.head = f"127.0.0.1:{server.getsockname()[1]}"
    outcomes, _ = carried(ray, [1])
    with pytest.raises(ExecutorError) as raised:
        list(outcomes)
    assert str(raised.value) == (
        f"the Ray cluster is lost (nobody answers at {ray.head}: [Errno 111] Connection refused); "
        "the trials left have not been run"
    )
    assert ray.killed == 0
    assert ray.listed == 1  # before there was anything to run


def test_waiting_for_room_is_told_now_and_then() -> None:
    ray = FakeRay(begin=[NEVER])
    outcomes, told = carried(ray, [1])
    ray.wait = lambda *args, **kwargs: _after(told, 3)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    words = (
        "waiting for room: a trial takes 1 CPU, 0.5 GPU and 1 GiB of memory; Ray: 1 node, 4 CPUs"
    )
    assert told[1:] == [words] * 2


def _after(told: list[str], count: int) -> Any:
    if len(told) == count:
        raise KeyboardInterrupt
    return [], []
