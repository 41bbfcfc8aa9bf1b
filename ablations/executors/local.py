"""Carries trials out in worker processes on this machine."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

from ablations.executors.errors import ExecutorError, MissingMainGuard
from ablations.executors.guard import UNGUARDED_EXIT, require_main_guard
from ablations.executors.handing_out import hand_out
from ablations.executors.memory import watched
from ablations.executors.process_tree import SEEN
from ablations.executors.processes import Job, Loss, WorkerProcess, describe_exit
from registry.contracts import Execution, Outcome

LOSSES_IN_A_ROW = 3
"""How many workers may be lost without an outcome in between; one more would be no luckier."""

LOSSES_OF_A_TRIAL = 10
"""How many workers may be lost before one trial begins, while others have outcomes."""

POLL_SECONDS = 0.2
"""How often a pool that broke without telling is looked for; outcomes come at once."""


class Local:
    """Worker processes, started fresh (*spawn*), each with a trial of its own.

    A trial that raises is `failed`; one that takes longer than `execution.timeout` seconds is
    stopped by killing its process, and so is nobody else's; one whose process dies is `crashed`,
    and so is one that, with all processes that it started, uses more than `execution.memory`
    bytes (on Linux). A trial whose worker is lost before it began is handed to another.

    A process that has run strangers' code serves no trial with other `strangers`, and none at all
    after a trial that left threads, processes or settings behind. What trials started ends with
    their worker, and workers end with the driver, however it ends.
    """

    limits_memory = SEEN

    def execute(
        self,
        trials: Iterable[Any],
        work: Callable[[Any], Any],
        execution: Execution,
    ) -> Iterator[Outcome]:
        """Yield one `Outcome` a trial as it ends; one trial a worker is taken at a time.

        Close the iterator (`contextlib.closing`) to stop what still runs.

        Raises: MissingMainGuard for a script without one; ExecutorError if `work` cannot be
        pickled, or when workers are lost again and again before they begin.
        """
        require_main_guard()
        if execution.workers < 1:
            raise ExecutorError(f"at least 1 worker is needed, not {execution.workers}")
        pickled = pickled_work(work)
        workers = [
            WorkerProcess(
                work=pickled,
                threads=execution.threads,
                timeout=execution.timeout,
                memory=execution.memory,
                gpu=execution.gpus[place % len(execution.gpus)] if execution.gpus else None,
            )
            for place in range(execution.workers)
        ]
        jobs = (Job(trial=trial, number=number) for number, trial in enumerate(trials))
        again: deque[Job] = deque()
        losses = 0
        try:
            with watched(workers, execution.memory):
                hand_out(workers, again, jobs)
                while any(worker.job for worker in workers):
                    outcomes = []
                    for became in collect(workers):
                        if isinstance(became, Loss):
                            losses += 1
                            outcome = after(became, losses)
                            if outcome is None:
                                again.append(became.job)
                                continue
                            became = outcome
                        else:
                            losses = 0
                        outcomes.append(became)
                    # Before the consumer gets its turn, so that no worker waits for it.
                    hand_out(workers, again, jobs)
                    yield from outcomes
        finally:
            for worker in workers:
                worker.stop()
            for worker in workers:
                worker.wait()


def pickled_work(work: Callable[[Any], Any]) -> bytes:
    """The work as it travels. Raises: ExecutorError."""
    try:
        return pickle.dumps(work)
    except Exception as error:
        raise ExecutorError(
            f"worker processes need a function defined at the top of a module, not {work!r}"
        ) from error


def collect(workers: list[WorkerProcess]) -> list[Outcome | Loss]:
    """What became of jobs, once there is any, or nothing after `POLL_SECONDS`."""
    busy = [worker for worker in workers if worker.job]
    futures.wait(
        [worker.future for worker in busy], POLL_SECONDS, return_when=futures.FIRST_COMPLETED
    )
    return [worker.collect() for worker in busy if worker.over]


def after(loss: Loss, losses: int) -> Outcome | None:
    """The outcome of a job whose worker was lost too often, or None to hand it out again."""
    if loss.exitcode == UNGUARDED_EXIT:
        raise MissingMainGuard
    how = describe_exit(loss.exitcode)
    if losses >= LOSSES_IN_A_ROW:
        raise ExecutorError(
            f"{losses} worker processes in a row were lost before they began a trial; the last "
            f"{how}. What they wrote to standard error says why; the trials left have not been run"
        )
    loss.job.losses += 1
    if loss.job.losses >= LOSSES_OF_A_TRIAL:
        message = f"{LOSSES_OF_A_TRIAL} worker processes were lost before it began; the last {how}"
        return Outcome(trial=loss.job.trial, state="crashed", message=message)
    return None
