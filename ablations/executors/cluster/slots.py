"""A share of a node, seen from the driver."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from ablations.executors import worker
from ablations.executors.cluster.connection import Demand, node_name
from ablations.executors.cluster.host import host_class
from ablations.executors.cluster.needs import needs_of
from ablations.executors.errors import ExecutorError
from ablations.executors.processes import Job
from registry.contracts import Outcome

GRACE_SECONDS = 60.0
"""Beyond its time limit that a trial's end is awaited: its process may have to be started first."""

STOP_SECONDS = 10.0
"""How long the end of trials is awaited when the run is stopped."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """What every slot is made with: the pickled setup of a keeper, and what it takes of a node."""

    version: str
    setup: bytes
    demand: Demand
    timeout: float | None
    where: Mapping[str, str] = field(default_factory=dict)
    """What must be the same on every node; all it is asked where it is empty."""


class Slot:
    """An actor that waits for room on a node, takes it, and then one job at a time.

    `pending` is what is awaited of it: that it has begun, and then what becomes of its job.
    """

    def __init__(self, ray: ModuleType, shares: Shares, checked: dict[str, set[frozenset[str]]]):
        self.job: Job | None = None
        self.strangers: frozenset[str] = frozenset()
        self.node = ""
        self.where: Mapping[str, str] = {}
        self._ray = ray
        self._shares = shares
        self._checked = checked
        self._deadline: float | None = None
        self._refusal: Outcome | None = None
        demand = shares.demand
        options: dict[str, Any] = {"num_cpus": demand["CPU"], "num_gpus": demand["GPU"]}
        if demand["memory"]:
            options["memory"] = demand["memory"]
        # One call more than a trial, so that it can be told to stop while one runs.
        actor = ray.remote(host_class()).options(max_concurrency=2, max_restarts=0, **options)
        self._actor = actor.remote()
        self.pending: Any = self._actor.begin.remote(shares.version, shares.setup, demand["CPU"])

    @property
    def begun(self) -> bool:
        """Whether it has a node."""
        return bool(self.node)

    @property
    def late(self) -> bool:
        """Whether it has not even said that its job's time was over."""
        return self._deadline is not None and time.monotonic() > self._deadline

    def serves(self, job: Job) -> bool:
        """Whether its process has run nobody's code beside this project's and the job's own."""
        return not self.strangers or self.strangers == job.strangers

    def submit(self, job: Job) -> None:
        """Hand over a job; `refusal` tells at once of one that does not pickle."""
        self.strangers = self.strangers | job.strangers if self.serves(job) else job.strangers
        self.job = job
        known = job.strangers in self._checked.setdefault(self.node, {frozenset()})
        needs = () if known else tuple(needs_of(job.strangers))
        if self._shares.timeout is not None:
            self._deadline = time.monotonic() + self._shares.timeout + GRACE_SECONDS
        try:
            packed = (pickle.dumps(job.trial), job.strangers)
        except Exception as error:
            self._refusal = _failed(job, error)
            return
        self.pending = self._actor.carry_out.remote(job.number, packed, needs)

    def refusal(self) -> Outcome | None:
        """What became of a job that could not be handed over; the slot is free again."""
        outcome, self._refusal = self._refusal, None
        if outcome is not None:
            self.give_up()
        return outcome

    def begin(self) -> None:
        """Read that it has begun.

        Raises: ExecutorError where the node lacks what trials need; what Ray raises.
        """
        pending, self.pending = self.pending, None
        node, lacks, where = self._ray.get(pending)
        if lacks:
            raise self._unfit(node, f"{lacks}; install there what is installed here")
        wanted = self._shares.where
        differing = [f"{name} {where[name]}" for name in wanted if where[name] != wanted[name]]
        if differing:
            others = ", ".join(f"{name} {value}" for name, value in wanted.items())
            words = f"it has {', '.join(differing)}, and the figures of this run are of {others}"
            raise self._unfit(node, f"{words}; leave it out, or run them apart")
        self.node, self.where = node, where

    def collect(self) -> Outcome:
        """What became of the job; the slot is free again.

        Raises: ExecutorError where the node lacks what the trial needs; what Ray raises.
        """
        answer = self._ray.get(self.pending)
        job = self.give_up()
        if isinstance(answer, str):
            raise self._unfit(self.node, f"{answer}; install there what is installed here")
        self._checked[self.node].add(job.strangers)
        outcome: Outcome = answer
        if outcome.state in ("crashed", "timeout"):
            self.strangers = frozenset()  # its next process is a fresh one
        return _read(job, outcome)

    def give_up(self) -> Job:
        """Expect nothing more of the job; returns it."""
        job, self.job = self.job, None
        self.pending, self._deadline = None, None
        assert job is not None
        return job

    def stop(self) -> Any:
        """Tell it to end its trial; returns what is done once it has."""
        return self._actor.stop.remote() if self.begun else None

    def kill(self) -> None:
        """End the actor, if it still is; its processes end with it."""
        self._ray.kill(self._actor)

    def _unfit(self, node: str, lacks: str) -> ExecutorError:
        return ExecutorError(f"node {node_name(self._ray, node)} cannot run these trials: {lacks}")


def _read(job: Job, outcome: Outcome) -> Outcome:
    if outcome.state != "done":
        return replace(outcome, trial=job.trial)
    try:
        return replace(outcome, trial=job.trial, result=pickle.loads(outcome.result))  # noqa: S301
    except Exception as error:
        return _failed(job, error)


def _failed(job: Job, error: Exception) -> Outcome:
    told = worker.failure(error)
    return Outcome(trial=job.trial, state="failed", message=told.message, traceback=told.traceback)
