"""Which worker takes which job."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Protocol

from ablations.executors.processes import Job


class Taker(Protocol):
    """A worker, here or elsewhere, that takes one job at a time."""

    job: Job | None
    strangers: frozenset[str]
    """Whose code its process has run."""

    def serves(self, job: Job) -> bool:
        """Whether its process has run nobody's code beside this project's and the job's own."""
        ...

    def submit(self, job: Job) -> None:
        """Take it."""
        ...


def hand_out(workers: Iterable[Taker], again: deque[Job], jobs: Iterator[Job]) -> None:
    """Give every idle worker a job, those of `again` first; no more are taken than are given."""
    idle = [worker for worker in workers if worker.job is None]
    while idle:
        job = again.popleft() if again else next(jobs, None)
        if job is None:
            return
        worker = min(idle, key=partial(cost, job))
        idle.remove(worker)
        worker.submit(job)


def cost(job: Job, worker: Taker) -> int:
    """0 for a process that has run just what the job runs, 2 for one that must be started anew."""
    return 0 if worker.strangers == job.strangers else 1 if worker.serves(job) else 2
