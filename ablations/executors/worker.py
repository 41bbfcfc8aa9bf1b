"""What happens inside a worker process.

Everything that a stranger's code can spoil is done inside `carry_out`, between the moment the
process has taken a trial and the moment it answers: reading the trial, importing the work, and
turning the result into bytes. pebble's own channel carries nothing but bytes and a flag. Driver
and worker pickle for each other alone, over pipes that nobody else holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import multiprocessing
import os
import pickle
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ablations.executors.caches import release_caches
from ablations.executors.failures import describe
from ablations.executors.process_tree import descendants, keep_orphans, resident_bytes
from ablations.executors.putting_back import State
from ablations.executors.threads import set_threads


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker is started with.

    `work` is the pickled function. `began` is a number shared with the driver, which the worker
    sets to that of the trial it begins: so the driver knows whether a death was the trial's.
    `memory` is the limit of a trial, in bytes, `gpu` the one that it sees, where it is given any.
    """

    threads: int
    work: bytes
    began: Any
    memory: int | None = None
    gpu: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a worker answers."""

    state: Literal["done", "failed"]
    result: Any = None
    message: str = ""
    traceback: str = ""


@dataclass(kw_only=True)
class _AtRest:
    """What this process was like before its first trial."""

    state: State
    threads: frozenset[threading.Thread]
    resident: int


KEPT_SHARE = 0.25
"""Of the memory limit that a process may keep of its trials before it is given up for a fresh one,
so that none is stopped for what others left."""

_setup: Setup
_at_rest: _AtRest


def start(setup: Setup) -> None:
    """Prepare this process; pebble calls it before the process takes its first trial.

    The work is imported here, torch with it: a trial's time limit counts from when it is taken,
    so the seconds that the import costs are not held against the first trial.
    """
    global _setup, _at_rest
    _setup = setup
    # A trial that kills its process group kills neither the driver nor other workers.
    with contextlib.suppress(OSError):
        os.setsid()
    keep_orphans()
    _offer_to_the_system()
    _end_with_parent()
    # The driver's standard output is its own: what a component prints goes to standard error.
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    set_threads(setup.threads)
    if setup.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = setup.gpu
    # A work that cannot be imported is told by each trial, where there is a way to tell it.
    with contextlib.suppress(Exception):
        pickle.loads(setup.work)  # noqa: S301
    _at_rest = _AtRest(
        state=State(),
        threads=frozenset(threading.enumerate()),
        resident=resident_bytes(os.getpid()),
    )


def carry_out(number: int, trial: bytes) -> tuple[bytes, bool]:
    """Apply the work to the pickled `trial`, the `number`th.

    Returns a pickled `Reply`, and whether this process may serve another trial.
    """
    process = os.getpid()
    _setup.began.value = number
    try:
        work = pickle.loads(_setup.work)  # noqa: S301
        reply = pickle.dumps(Reply(state="done", result=work(pickle.loads(trial))))  # noqa: S301
    except BaseException as error:
        reply = pickle.dumps(failure(error))
    if os.getpid() != process:
        os._exit(0)  # a copy that the trial forked: the answer is the original's to give
    return reply, _fit_again()


def _fit_again() -> bool:
    """Put back what the trial changed; whether nothing of it is left."""
    try:
        _at_rest.state.put_back()
        set_threads(_setup.threads)
        if set(threading.enumerate()) - _at_rest.threads or descendants(os.getpid()):
            return False
        return _setup.memory is None or _kept_bytes() <= _setup.memory * KEPT_SHARE
    except BaseException:  # whatever a stranger has done: a process that cannot tell is not fit
        return False


def _kept_bytes() -> int:
    """Memory that the trials so far did not give back."""
    kept = resident_bytes(os.getpid()) - _at_rest.resident
    if kept > (_setup.memory or 0) * KEPT_SHARE:
        release_caches()
        gc.collect()
        kept = resident_bytes(os.getpid()) - _at_rest.resident
    return kept


def failure(error: BaseException) -> Reply:
    """The reply that tells of an exception."""
    message, trace = describe(error)
    return Reply(state="failed", message=message, traceback=trace)


def _offer_to_the_system() -> None:
    """Where memory runs out, Linux takes a worker, which costs a trial, and not the driver."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _end_with_parent() -> None:
    """End this process and its group when its parent is gone, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        with contextlib.suppress(OSError):
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)  # it leads no group

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()
    # The thread never gets to run while a trial hangs in foreign code with the interpreter
    # locked. On Linux the kernel can be asked to kill this process when the pipe that the parent
    # holds is closed. (PR_SET_PDEATHSIG would act when the starting *thread* ends.)
    if hasattr(fcntl, "F_SETSIG"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, -os.getpid())
            fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
            fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)
