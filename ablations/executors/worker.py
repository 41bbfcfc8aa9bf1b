"""What happens inside a worker process.

Everything that a stranger's code can spoil is done inside `carry_out`, between the moment the
process has taken a trial and the moment it answers: reading the trial, importing the work, and
turning the result into bytes. pebble's own channel carries nothing but bytes. Driver and worker
pickle for each other alone, over pipes that nobody else holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import pickle
import signal
import threading
from dataclasses import dataclass
from typing import Any, Literal

from ablations.executors.failures import describe
from ablations.executors.threads import set_threads


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a worker is started with.

    `work` is the pickled function. `began` is a number shared with the driver, which the worker
    sets to that of the trial it begins: so the driver knows whether a death was the trial's.
    """

    threads: int
    work: bytes
    began: Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a worker answers."""

    state: Literal["done", "failed"]
    result: Any = None
    message: str = ""
    traceback: str = ""


_setup: Setup


def start(setup: Setup) -> None:
    """Prepare this process; pebble calls it before the process takes its first trial.

    The work is imported here, torch with it: a trial's time limit counts from when it is taken,
    so the seconds that the import costs are not held against the first trial.
    """
    global _setup
    _setup = setup
    _end_with_parent()
    # The driver's standard output is its own: what a component prints goes to standard error.
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    set_threads(setup.threads)
    # A work that cannot be imported is told by each trial, where there is a way to tell it.
    with contextlib.suppress(Exception):
        pickle.loads(setup.work)  # noqa: S301


def carry_out(number: int, trial: bytes) -> bytes:
    """Apply the work to the pickled `trial`, the `number`th; returns a pickled `Reply`."""
    process = os.getpid()
    _setup.began.value = number
    # Again for each trial: the one before may have changed the number.
    set_threads(_setup.threads)
    try:
        work = pickle.loads(_setup.work)  # noqa: S301
        reply = pickle.dumps(Reply(state="done", result=work(pickle.loads(trial))))  # noqa: S301
    except BaseException as error:
        reply = pickle.dumps(failure(error))
    if os.getpid() != process:
        os._exit(0)  # a copy that the trial forked: the answer is the original's to give
    return reply


def failure(error: BaseException) -> Reply:
    """The reply that tells of an exception."""
    message, trace = describe(error)
    return Reply(state="failed", message=message, traceback=trace)


def _end_with_parent() -> None:
    """End this process when its parent is gone, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()
    # The thread never gets to run while a trial hangs in foreign code with the interpreter
    # locked. On Linux the kernel can be asked to kill this process when the pipe that the parent
    # holds is closed. (PR_SET_PDEATHSIG would act when the starting *thread* ends.)
    if hasattr(fcntl, "F_SETSIG"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
            flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
            fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)
