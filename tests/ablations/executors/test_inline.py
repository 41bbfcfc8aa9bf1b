"""The inline executor."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ablations.executors.inline import Inline
from registry.contracts import Execution, Outcome
from tests.ablations.executors import work


def run(trials: list[Any], function: Any, **execution: Any) -> list[Outcome]:
    return list(Inline().execute(trials, function, Execution(**execution)))


def test_trials_are_carried_out_in_order_in_this_process() -> None:
    assert [(o.trial, o.result, o.state) for o in run([3, 1], work.double)] == [
        (3, 6, "done"),
        (1, 2, "done"),
    ]
    assert run([0], work.process_of)[0].result == os.getpid()


def test_an_exception_costs_its_trial_alone() -> None:
    first, second, third = run([0, 1, 2], work.refuse)
    assert (first.state, third.state) == ("done", "done")
    assert (second.state, second.message, second.result) == ("failed", "ValueError: odd: 1", None)
    assert second.traceback.startswith("Traceback (most recent call last):")
    assert second.traceback.endswith("ValueError: odd: 1\n")


@pytest.mark.parametrize(
    ("trial", "message"),
    [
        ("system-exit", "SystemExit: enough"),
        ("unreadable", "Unreadable: (its text cannot be read)"),
    ],
)
def test_whatever_is_raised_is_a_failure(trial: str, message: str) -> None:
    (outcome,) = run([trial], work.misbehave)
    assert (outcome.state, outcome.message) == ("failed", message)


def test_ctrl_c_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(["interrupt"], work.misbehave)


def test_trials_are_taken_as_they_fit() -> None:
    taken: list[int] = []
    outcomes = Inline().execute(
        (taken.append(n) or n for n in range(5)),  # type: ignore[func-returns-value]
        work.double,
        Execution(),
    )
    next(outcomes)
    assert taken == [0]


def test_threads_hold_during_a_trial_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    wanted = before + 1

    def look(trial: int) -> tuple[int, str]:
        return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]

    outcomes = Inline().execute([0], look, Execution(threads=wanted))
    assert next(outcomes).result == (wanted, str(wanted))
    assert torch.get_num_threads() == before
    assert os.environ["OMP_NUM_THREADS"] == "9"
    assert "MKL_NUM_THREADS" not in os.environ
