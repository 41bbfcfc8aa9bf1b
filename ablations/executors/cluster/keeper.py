"""What carries trials out on a node: one worker process at a time, as on a machine of one's own.

It holds the share of the node that Ray has given it. A trial runs in a process below it, which it
starts, watches and ends as the local executor does: so a trial that dies, hangs or takes too much
memory is told from a node that is lost, and costs itself alone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ablations.executors.cluster.needs import Need, lacking
from ablations.executors.errors import ExecutorError
from ablations.executors.local import after, collect
from ablations.executors.memory import watched
from ablations.executors.processes import Job, Loss, WorkerProcess
from ablations.machine import memory_share
from registry.contracts import Outcome


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a keeper is made of; `memory` is None where the node's is shared out.

    `environment` is what trials are told by variables of this project's own, `device` what they
    compute on; where it is empty nobody asks what bends bits.
    """

    work: bytes
    threads: int
    timeout: float | None
    memory: int | None
    needs: tuple[Need, ...]
    device: str
    environment: Mapping[str, str] = field(default_factory=dict)


NO_TRIAL = -2
"""The number of the job that is none."""


class Packed:
    """A trial as it travels: whoever unpickles it has the trial, and the keeper only its bytes."""

    def __init__(self, trial: bytes, strangers: frozenset[str] = frozenset()) -> None:
        self.trial = trial
        self.strangers = strangers

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (self.trial,)


@dataclass(frozen=True, kw_only=True)
class Packing:
    """A work whose results travel as bytes, so that no stranger's code runs in the keeper."""

    work: Callable[[Any], Any]

    def __call__(self, trial: Any) -> bytes:
        """The pickled result."""
        return pickle.dumps(trial() if isinstance(trial, Asked) else self.work(trial))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """In the place of a trial: what of its node bends the bits of one."""

    device: str

    def __call__(self) -> dict[str, str]:
        """As `processor` says."""
        from ablations.environment import processor

        return processor(self.device)


class Keeper:
    """One worker process at a time; `limit` is what a trial may use in bytes."""

    def __init__(self, setup: Setup, slots: int) -> None:
        _be_a_plain_process()
        os.environ.update(setup.environment)
        self.limit = memory_share(slots) if setup.memory is None else setup.memory
        self._worker = WorkerProcess(
            work=setup.work, threads=setup.threads, timeout=setup.timeout, memory=self.limit
        )
        self._stopped = False
        self._end = contextlib.ExitStack()
        self._end.enter_context(watched([self._worker], self.limit))

    def carry_out(self, number: int, packed: Packed, needs: tuple[Need, ...]) -> Outcome:
        """What became of a trial, its result as bytes; it is not begun where a need is not met.

        Raises: NotMet; ExecutorError when its processes are lost again and again.
        """
        lacks = lacking(needs)
        if lacks:
            raise NotMet(lacks)
        job = Job(trial=packed, number=number)
        losses = 0
        while not self._stopped:
            self._worker.submit(job)
            became: list[Outcome | Loss] = []
            while not became:
                became = collect([self._worker])
            outcome = became[0]
            if isinstance(outcome, Loss):
                losses += 1
                given_up = after(outcome, losses)
                if given_up is None:
                    continue
                outcome = given_up
            return replace(outcome, trial=None)
        return Outcome(trial=None, state="crashed", message="stopped with the run")

    def where(self, device: str) -> dict[str, str]:
        """What of this node bends bits. Raises: ExecutorError."""
        outcome = self.carry_out(NO_TRIAL, Packed(pickle.dumps(Asked(device=device))), ())
        if outcome.state != "done":
            raise ExecutorError(f"cannot say what it computes on: {outcome.message}")
        found: dict[str, str] = pickle.loads(outcome.result)  # noqa: S301
        return found

    def stop(self) -> None:
        """End the process and all that it started; called beside a trial that it carries out."""
        self._stopped = True
        self._end.close()
        self._worker.stop()
        self._worker.wait()


class NotMet(Exception):
    """A node lacks what a trial needs."""

    def __init__(self, lacks: list[str]) -> None:
        super().__init__("; ".join(lacks))


def begin(setup: Setup, slots: int) -> Keeper:
    """A keeper on this node. Raises: NotMet."""
    lacks = lacking(setup.needs)
    if lacks:
        raise NotMet(lacks)
    return Keeper(setup, slots)


def _be_a_plain_process() -> None:
    """Forget what is Ray's alone, since the process of a trial inherits it.

    Ray's own main module would be run there, and its folders be searched for modules first.
    """
    main = sys.modules["__main__"]
    if "ray" in getattr(main, "__file__", ""):
        del main.__file__
    import ray

    ours = os.path.dirname(ray.__file__)
    sys.path[:] = [folder for folder in sys.path if not folder.startswith(ours)]
