"""A run's trials in a cluster that has been joined: handed out, collected, run again when lost."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from ablations.executors.cluster.connection import in_words, is_alive, node_name, taken
from ablations.executors.cluster.head import Head, Lost
from ablations.executors.cluster.slots import STOP_SECONDS, Shares, Slot
from ablations.executors.errors import ExecutorError
from ablations.executors.handing_out import hand_out
from ablations.executors.processes import Job
from registry.contracts import Outcome
from registry.errors import describe

WAIT_SECONDS = 1.0
"""How often trials are looked at that do not answer; outcomes come at once."""

TOLD_SECONDS = 60.0
"""Between two words on waiting for room."""

FAULTS_OF_BEGINNING = 5
"""How many actors in a row may be lost before they begin; one more would be no luckier."""


class Carrying:
    """At most `workers` slots, and what becomes of the trials given to them."""

    def __init__(
        self,
        ray: ModuleType,
        shares: Shares,
        workers: int,
        retries: int,
        tell: Callable[[str], object],
    ) -> None:
        self._ray = ray
        self._shares = shares
        self._workers = workers
        self._retries = retries
        self._tell = tell
        self._slots: list[Slot] = []
        self._checked: dict[str, set[frozenset[str]]] = {}
        self._again: deque[Job] = deque()
        self._faults = 0
        self._lost_nodes: set[str] = set()
        self._head = Head(ray)
        self._last = time.monotonic()
        """When there was last something to do, or a word on it."""

    def carry_out(self, trials: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Yield what became of each trial as it ends."""
        jobs = _Jobs(trials, ahead=self._workers)
        self._tell(f"Ray: {in_words(self._ray)}; up to {self._workers} trials at a time")
        outcomes: list[Outcome] = []
        with self._stopped_at_the_end():
            while True:
                self._open(jobs)
                # Before the consumer gets its turn, so that no slot waits for it.
                hand_out([slot for slot in self._slots if slot.begun], self._again, jobs)
                yield from outcomes
                if jobs.ended and not self._again and not any(slot.job for slot in self._slots):
                    return
                outcomes = list(self._collect())

    def where(self) -> Mapping[str, str]:
        """What bends bits on the first node that has room."""
        jobs = _Jobs([None], ahead=1)
        with self._stopped_at_the_end():
            while not any(slot.begun for slot in self._slots):
                self._open(jobs)
                list(self._collect())
            return self._slots[0].where

    def _open(self, jobs: _Jobs) -> None:
        """Make slots for as many trials as there were at first, and in the place of lost ones."""
        while len(self._slots) < jobs.at_first and (self._again or not jobs.ended):
            self._slots.append(Slot(self._ray, self._shares, self._checked))

    def _collect(self) -> Iterator[Outcome]:
        refused = [outcome for slot in self._slots if (outcome := slot.refusal())]
        if refused:
            yield from refused
            return
        waiting = {slot.pending: slot for slot in self._slots if slot.pending is not None}
        refs = list(waiting)
        ready, _ = self._ray.wait(refs, num_returns=1, timeout=WAIT_SECONDS)
        if ready:
            self._last = time.monotonic()
            ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        else:
            self._head.look()
        for ref in ready:
            outcome = self._answered(waiting[ref])
            if outcome is not None:
                yield outcome
        yield from self._late()
        self._tell_of_waiting()

    def _answered(self, slot: Slot) -> Outcome | None:
        errors = self._ray.exceptions
        try:
            if not slot.begun:
                slot.begin()
                self._faults = 0
                return None
            return slot.collect()
        except errors.RayTaskError as error:
            where = node_name(self._ray, slot.node)
            raise ExecutorError(f"node {where}: {_cause(error)}") from error
        except errors.RayError as error:
            self._head.wait()
            return self._lost(slot, error)

    def _lost(self, slot: Slot, error: Exception) -> Outcome | None:
        """What becomes of the job of a slot that is no more."""
        self._drop(slot)
        how = self._how_lost(slot, error)
        if slot.job is None:
            self._faults += 1
            if self._faults >= FAULTS_OF_BEGINNING:
                raise ExecutorError(
                    f"{self._faults} times in a row no trial could be begun in the cluster; the "
                    f"last time {how}; the trials left have not been run"
                )
            return None
        job = slot.give_up()
        job.faults += 1
        if job.faults > self._retries:
            message = f"was lost with its node {job.faults} times; the last time {how}"
            return Outcome(trial=job.trial, state="crashed", message=message)
        if slot.node not in self._lost_nodes:
            self._tell(f"{how}; what ran there runs again elsewhere")
        if not is_alive(self._ray, slot.node):
            self._lost_nodes.add(slot.node)
        self._again.append(job)
        return None

    def _how_lost(self, slot: Slot, error: Exception) -> str:
        if not slot.begun:
            return " ".join(str(error).split())
        where = node_name(self._ray, slot.node)
        if not is_alive(self._ray, slot.node):
            return f"node {where} was lost"
        if isinstance(error, self._ray.exceptions.ActorUnavailableError):
            return f"node {where} answers no more"
        return f"node {where} lost Ray's process that kept it"

    def _late(self) -> Iterator[Outcome]:
        """Trials whose node answers no more, though their time is over."""
        for slot in [slot for slot in self._slots if slot.late]:
            self._drop(slot)
            limit = self._shares.timeout or 0.0
            message = f"stopped after its time limit of {limit:g} s; its node did not answer"
            yield Outcome(trial=slot.give_up().trial, state="timeout", message=message)

    def _drop(self, slot: Slot) -> None:
        self._slots.remove(slot)
        with contextlib.suppress(Exception):  # it is gone, or cannot be reached to be told
            slot.kill()

    def _tell_of_waiting(self) -> None:
        now = time.monotonic()
        if any(slot.job for slot in self._slots) or now - self._last < TOLD_SECONDS:
            return
        self._last = now
        demand = taken(self._shares.demand)
        self._tell(f"waiting for room: a trial takes {demand}; Ray: {in_words(self._ray)}")

    @contextlib.contextmanager
    def _stopped_at_the_end(self) -> Iterator[None]:
        """Leave no trial running; where the cluster is lost, there is none to tell.

        Raises: Lost where Ray's client says that it is.
        """
        try:
            yield
        except ConnectionError as error:
            self._slots.clear()
            raise Lost(describe(error)) from error
        except Lost:
            # Ray would try to start a cluster of its own here, or end this process.
            self._slots.clear()
            raise
        finally:
            self._stop()

    def _stop(self) -> None:
        slots, self._slots = self._slots, []
        with contextlib.suppress(Exception):  # a lost node is not told; its processes are lost too
            ending = [ref for slot in slots if (ref := slot.stop()) is not None]
            if ending:
                self._ray.wait(ending, num_returns=len(ending), timeout=STOP_SECONDS)
        for slot in slots:
            with contextlib.suppress(Exception):
                slot.kill()


class _Jobs(Iterator[Job]):
    """Trials as jobs: `ahead` of them are taken at once, and later one before it is asked for."""

    def __init__(self, trials: Iterable[Any], *, ahead: int) -> None:
        jobs = (Job(trial=trial, number=number) for number, trial in enumerate(trials))
        first = list(itertools.islice(jobs, ahead))
        self.at_first = len(first)
        self._jobs = itertools.chain(first, jobs)
        self._next = next(self._jobs, None)

    @property
    def ended(self) -> bool:
        """Whether there are no more."""
        return self._next is None

    def __next__(self) -> Job:
        job = self._next
        if job is None:
            raise StopIteration
        self._next = next(self._jobs, None)
        return job


def _cause(error: Any) -> str:
    cause = getattr(error, "cause", None) or error
    return " ".join(f"{type(cause).__name__}: {cause}".split())
