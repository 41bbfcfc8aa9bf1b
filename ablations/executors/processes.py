"""One worker process, seen from the driver.

Each worker is a pebble pool of one. Workers of one pool share a pair of pipes and the locks
around them, so that a process killed at the wrong moment leaves a half-written message or a lock
that nobody opens again, and the trials of all others wait for it. Apart, a death spoils nothing
but what belonged to the dead.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

import pebble

from ablations.executors import worker
from ablations.executors.memory import memory_of, over_limit
from ablations.executors.process_tree import MARK, Family
from registry.contracts import Outcome

NO_JOB = -1

EXIT_SECONDS = 10.0
"""How long the end of a worker is awaited; it has been killed by then."""


@dataclass(kw_only=True)
class Job:
    """A trial, its number in this run, and how often a worker was lost before it began.

    `faults` counts how often the node that it was given to was lost.
    """

    trial: Any
    number: int
    losses: int = 0
    faults: int = 0

    @property
    def strangers(self) -> frozenset[str]:
        """Whose code the trial says that it runs; one that says nothing runs none."""
        named: frozenset[str] = getattr(self.trial, "strangers", frozenset())
        return named


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A worker was lost before it began the job; `exitcode` is None if it had not ended."""

    job: Job
    exitcode: int | None


class WorkerProcess:
    """A process that carries out one job at a time, started anew when it was lost.

    So it is for a job whose trial runs other strangers' code than the process has run: what they
    changed in it is known to nobody. Code of this project's own leaves nothing behind.
    """

    def __init__(
        self,
        *,
        work: bytes,
        threads: int,
        timeout: float | None,
        memory: int | None = None,
        gpu: str | None = None,
    ) -> None:
        self.future: Future[tuple[bytes, bool]] = Future()
        self.job: Job | None = None
        self.strangers: frozenset[str] = frozenset()
        """Whose code the process has run."""
        self._work = work
        self._threads = threads
        self._timeout = timeout
        self._memory = memory
        self._gpu = gpu
        self._excess: int | None = None
        self._lock = threading.Lock()
        self._pool: pebble.ProcessPool | None = None
        self._context = _OneProcess()
        self._ends: list[threading.Thread] = []

    def submit(self, job: Job) -> None:
        """Hand over a job; `future` is done when there is something to collect."""
        if not self.serves(job):
            self._end_pool(kill=True)
        self.strangers |= job.strangers
        self.future = Future()
        with self._lock:
            self.job = job
        try:
            trial = pickle.dumps(job.trial)
        except Exception as error:
            self.future.set_result((pickle.dumps(worker.failure(error)), True))
            return
        try:
            self.future = self._running_pool().schedule(
                worker.carry_out, args=(job.number, trial), timeout=self._timeout
            )
        except RuntimeError as error:  # no process could be started, or the pool broke while idle
            self.future.set_exception(error)

    def serves(self, job: Job) -> bool:
        """Whether the process has run nobody's code beside this project's and the job's own."""
        return not self.strangers or self.strangers == job.strangers

    def stop_over(self, limit: int) -> None:
        """Kill the process if the job uses more memory than that; `collect` tells of it."""
        process = self._context.process
        with self._lock:  # held, so that no other job takes the place of this one meanwhile
            if self.job is None or process is None or not process.pid or self._excess is not None:
                return
            used = memory_of(process.pid, limit)
            if used > limit:
                self._excess = used
                process.kill()

    @property
    def over(self) -> bool:
        """Whether there is something to collect."""
        return self.future.done() or self._pool is None or not self._pool.active

    def collect(self) -> Outcome | Loss:
        """What became of the job; the worker is free again."""
        with self._lock:
            job, self.job = self.job, None
            excess, self._excess = self._excess, None
        assert job is not None
        done = self.future.done()
        error = self.future.exception() if done else None
        if done and error is None:
            reply, fit = self.future.result()
            if excess is not None or not fit:
                self._end_pool(kill=True)
            return _read(job.trial, reply)
        if isinstance(error, TimeoutError):
            self._end_pool()
            message = f"stopped after its time limit of {self._timeout:g} s"
            return Outcome(trial=job.trial, state="timeout", message=message)
        began = self._context.began.value == job.number
        exitcode = self._end_pool()
        if excess is not None:
            message = over_limit(excess, self._memory)
            return Outcome(trial=job.trial, state="crashed", message=message)
        if not began:
            return Loss(job=job, exitcode=exitcode)
        message = f"its worker process {describe_exit(exitcode)}"
        return Outcome(trial=job.trial, state="crashed", message=message)

    def stop(self) -> None:
        """Kill the process; `wait` sees it gone."""
        self._end_pool(kill=True)

    def wait(self) -> None:
        """Wait until no process of this worker is left."""
        for end in self._ends:
            end.join(EXIT_SECONDS)

    def _running_pool(self) -> pebble.ProcessPool:
        if self._pool is not None and not self._pool.active:
            self._end_pool()  # lost while it had nothing to do
        if self._pool is None:
            self._context = _OneProcess()
            setup = worker.Setup(
                threads=self._threads,
                work=self._work,
                began=self._context.began,
                memory=self._memory,
                gpu=self._gpu,
            )
            self._pool = pebble.ProcessPool(
                max_workers=1, initializer=worker.start, initargs=(setup,), context=self._context
            )
        return self._pool

    def _end_pool(self, *, kill: bool = False) -> int | None:
        """Give the pool up; returns the status its process had ended with, if it had."""
        pool, self._pool = self._pool, None
        self.strangers = frozenset()
        if pool is None:
            return None
        process = self._context.process
        exitcode = None
        if process is not None and process.pid is not None:  # it was started
            exitcode = None if kill else process.exitcode
            if exitcode is None:
                process.kill()
        # pebble waits for its threads, which look up every tenth of a second: not our time.
        end = threading.Thread(target=_end, args=(pool, process), daemon=True)
        end.start()
        self._ends = [*(other for other in self._ends if other.is_alive()), end]
        return exitcode


def describe_exit(exitcode: int | None) -> str:
    """How a process ended, in words that follow "process"."""
    if exitcode is None:
        return "could not be reached"
    if exitcode >= 0:
        return f"ended with exit code {exitcode}"
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f"signal {-exitcode}"
    return f"was killed by {name}"


def _end(pool: pebble.ProcessPool, process: _QuietStart | None) -> None:
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()
    if process is not None and process.family is not None:
        process.family.end(EXIT_SECONDS)


def _read(trial: Any, reply: bytes) -> Outcome:
    try:
        read = pickle.loads(reply)  # noqa: S301
    except Exception as error:
        read = worker.failure(error)
    return Outcome(
        trial=trial,
        result=read.result,
        state=read.state,
        message=read.message,
        traceback=read.traceback,
    )


class _QuietStart(SpawnProcess):
    """A process that never sees Ctrl-C, not even while it is being started."""

    family: Family | None = None
    """By which what it started is found when it is gone."""

    def start(self) -> None:
        # The mask is inherited; pebble lets a worker ignore SIGINT only once it has been loaded.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        mark = uuid.uuid4().hex
        try:
            with _importable_main(), _marked(mark):
                super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if self.pid is not None:
            self.family = Family.of(self.pid, mark)


@contextlib.contextmanager
def _importable_main() -> Iterator[None]:
    """Hide a main module's file that is none (`<stdin>`) or is gone: a worker would import it."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or os.path.exists(file):
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


@contextlib.contextmanager
def _marked(mark: str) -> Iterator[None]:
    """Let a process that is started inherit a mark."""
    before = os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        if before is None:
            del os.environ[MARK]
        else:
            os.environ[MARK] = before


class _OneProcess(SpawnContext):
    """Lets a pool start one process and keeps hold of it.

    pebble replaces a dead process within the pool, whose pipes and locks may be spoilt, and says
    nothing of one that ended with status 0. Refused a second process, it breaks the pool.
    """

    def __init__(self) -> None:
        super().__init__()
        self.process: _QuietStart | None = None
        self.began: Any = self.RawValue(ctypes.c_longlong, NO_JOB)

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        if self.process is not None:
            raise OSError("a pool has one process")
        self.process = _QuietStart(*args, **kwargs)
        return self.process
