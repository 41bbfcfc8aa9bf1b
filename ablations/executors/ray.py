"""Carries trials out on the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from types import ModuleType
from typing import Annotated, Any

from annotated_types import Ge, Gt

from ablations.amounts import in_words as amount
from ablations.executors.cluster.connection import (
    Demand,
    capacity,
    in_words,
    is_alive,
    joined,
    node_name,
)
from ablations.executors.cluster.keeper import Packing, Setup
from ablations.executors.cluster.needs import SCRIPT, lacking, needs_of
from ablations.executors.cluster.slots import STOP_SECONDS, Shares, Slot
from ablations.executors.errors import ExecutorError
from ablations.executors.handing_out import hand_out
from ablations.executors.local import pickled_work
from ablations.executors.processes import Job
from registry.contracts import Execution, Outcome

WAIT_SECONDS = 1.0
"""How often trials are looked at that do not answer; outcomes come at once."""

TOLD_SECONDS = 60.0
"""Between two words on waiting for room."""

FAULTS_OF_BEGINNING = 5
"""How many actors in a row may be lost before they begin; one more would be no luckier."""


PASSED_ON = ("ABLATIONS_CHECKPOINT_SECONDS", "ABLATIONS_WEIGHT_BANK")
"""Variables that trials read."""


class Ray:
    """Trials on the nodes of a cluster, each in a process like those of the local executor.

    A trial takes of a node `cpus` (by default as many as it has threads), `gpus` (one, where the
    grid asks for cuda, else none) and what the grid says of memory. So many run at a time as fit
    into the cluster when the run starts, or `in_flight`; what does not fit waits for room. A trial
    that was lost with its node, or with Ray's part of it, is run again elsewhere, `retries` times;
    one that raises, dies or hangs is not. `address` is that of the cluster: `auto` for the one that
    this machine belongs to, `HOST:PORT` for one that it can reach, `local` for one of its own.
    """

    elsewhere = True

    def __init__(
        self,
        *,
        address: str = "auto",
        cpus: Annotated[float, Gt(0)] | None = None,
        gpus: Annotated[float, Ge(0)] | None = None,
        in_flight: Annotated[int, Ge(1)] | None = None,
        retries: Annotated[int, Ge(0)] = 3,
    ) -> None:
        self._address = address
        self._cpus = cpus
        self._gpus = gpus
        self._in_flight = in_flight
        self._retries = retries
        self._joined = contextlib.ExitStack()
        self._ray: ModuleType | None = None
        self._tell: Callable[[str], object] = lambda told: None
        self._device = ""
        self._where: Mapping[str, str] = {}

    def follow(self, tell: Callable[[str], object]) -> None:
        """Have nodes that come and go told, a line each."""
        self._tell = tell

    def workers(self, execution: Execution, device: str) -> int:
        """How many trials run at a time where nobody says. Raises: ExecutorError; MissingExtra."""
        self._device = device
        if self._in_flight is not None:
            return self._in_flight
        ray = self._join()
        demand = self._demand(execution)
        fit = capacity(ray, demand)
        if not fit:
            self._joined.close()
            raise ExecutorError(
                f"no node has room for a trial, which takes {_words(demand)}; the cluster has "
                f"{in_words(ray)}. For one that grows when asked, say how many trials to run at a "
                "time (--workers)"
            )
        return fit

    def where(self, execution: Execution, device: str) -> Mapping[str, str]:
        """What bends bits on the nodes: the first that has room is asked, and speaks for all.

        Raises: ExecutorError; MissingExtra.
        """
        self._device = device
        shares = self._shares(_nothing, replace(execution, timeout=None))
        run = _Run(self._join(), shares, 1, self._retries, self._tell)
        self._where = run.where()
        return self._where

    def execute(
        self,
        trials: Iterable[Any],
        work: Callable[[Any], Any],
        execution: Execution,
    ) -> Iterator[Outcome]:
        """Yield one `Outcome` a trial as it ends; one trial a slot is taken at a time.

        Raises: ExecutorError if `work` cannot be pickled, where no cluster is to be joined, when a
        node lacks what trials need, or when none can be used; MissingExtra without Ray.
        """
        if execution.workers < 1:
            raise ExecutorError(f"at least 1 worker is needed, not {execution.workers}")
        pickled_work(work)
        if getattr(work, "__module__", "") == SCRIPT:
            raise ExecutorError(f"nodes lack {', '.join(lacking(needs_of([SCRIPT])))}")
        shares = self._shares(work, execution)
        with self._joined:
            ray = self._join()
            run = _Run(ray, shares, execution.workers, self._retries, self._tell)
            with contextlib.closing(run.carry_out(trials)) as outcomes:
                yield from outcomes

    def _shares(self, work: Callable[[Any], Any], execution: Execution) -> Shares:
        own = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        setup = Setup(
            work=pickle.dumps(Packing(work=work)),
            threads=execution.threads,
            timeout=execution.timeout,
            memory=execution.memory,
            needs=tuple(needs_of()),
            device=self._device,
            environment=own,
        )
        return Shares(
            version=version("ablations"),
            setup=pickle.dumps(setup),
            demand=self._demand(execution),
            timeout=execution.timeout,
            where=self._where,
        )

    def _join(self) -> ModuleType:
        if self._ray is None:
            self._ray = self._joined.enter_context(joined(self._address))
            self._joined.callback(self._left)
        return self._ray

    def _left(self) -> None:
        self._ray = None

    def _demand(self, execution: Execution) -> Demand:
        by_default = 1.0 if self._device == "cuda" else 0.0
        return {
            "CPU": self._cpus or execution.threads,
            "GPU": by_default if self._gpus is None else self._gpus,
            "memory": execution.memory or 0,
        }


class _Run:
    """One run's trials in a cluster that has been joined."""

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
        self._last = time.monotonic()
        """When there was last something to do, or a word on it."""

    def carry_out(self, trials: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Yield what became of each trial as it ends."""
        jobs = _Jobs(trials, ahead=self._workers)
        self._tell(f"Ray: {in_words(self._ray)}; up to {self._workers} trials at a time")
        outcomes: list[Outcome] = []
        try:
            while True:
                self._open(jobs)
                # Before the consumer gets its turn, so that no slot waits for it.
                hand_out([slot for slot in self._slots if slot.begun], self._again, jobs)
                yield from outcomes
                if jobs.ended and not self._again and not any(slot.job for slot in self._slots):
                    return
                outcomes = list(self._collect())
        finally:
            self._stop()

    def where(self) -> Mapping[str, str]:
        """What bends bits on the first node that has room."""
        jobs = _Jobs([None], ahead=1)
        try:
            while not any(slot.begun for slot in self._slots):
                self._open(jobs)
                list(self._collect())
            return self._slots[0].where
        finally:
            self._stop()

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
        except (errors.RayError, ConnectionError) as error:
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
        demand = _words(self._shares.demand)
        self._tell(f"waiting for room: a trial takes {demand}; Ray: {in_words(self._ray)}")

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
    """Trials as jobs, no more than `ahead` of them taken before they are asked for."""

    def __init__(self, trials: Iterable[Any], *, ahead: int) -> None:
        jobs = (Job(trial=trial, number=number) for number, trial in enumerate(trials))
        first = list(itertools.islice(jobs, ahead))
        self.at_first = len(first)
        self.ended = not first
        self._jobs = itertools.chain(first, jobs)

    def __next__(self) -> Job:
        job = next(self._jobs, None)
        if job is None:
            self.ended = True
            raise StopIteration
        return job


def _nothing(trial: Any) -> None:
    """A work for nodes that are only asked what they are."""


def _words(demand: Demand) -> str:
    """`1 CPU, 0.5 GPU and 4 GiB of memory`."""
    parts = [f"{demand['CPU']:g} CPU"]
    if demand["GPU"]:
        parts.append(f"{demand['GPU']:g} GPU")
    if demand["memory"]:
        parts.append(f"{amount(int(demand['memory']))} of memory")
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _cause(error: Any) -> str:
    cause = getattr(error, "cause", None) or error
    return " ".join(f"{type(cause).__name__}: {cause}".split())
