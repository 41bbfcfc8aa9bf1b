"""Recognizes a script that would start the run anew in each of its worker processes."""

from __future__ import annotations

import multiprocessing

from ablations.executors.errors import MissingMainGuard

WORKER_NAME = "pebble_pool_worker"
"""The name pebble gives to the processes of a pool."""

UNGUARDED_EXIT = 90
"""How a worker tells its driver that the main module called the run again."""


def require_main_guard() -> None:
    """Refuse to go on in a process that is still importing its parent's main module.

    To be called first by whatever starts a run from Python, before it touches the run directory.
    A worker process leaves without a word: its driver knows the exit status and speaks once for
    all workers.

    Raises: MissingMainGuard in any other process that is being started; SystemExit in a worker.
    """
    process = multiprocessing.current_process()
    # Set by multiprocessing.spawn while it prepares a process; nothing public says the same.
    if not getattr(process, "_inheriting", False):
        return
    if process.name == WORKER_NAME:
        raise SystemExit(UNGUARDED_EXIT)
    raise MissingMainGuard
