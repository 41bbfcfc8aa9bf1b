"""The memory limit of a trial: what it has in use is looked at from outside, and often.

A limit of the kernel's (`RLIMIT_AS`, `RLIMIT_DATA`) would not do: it counts addresses, of which
torch reserves far more than it uses, and holds for each process of a trial apart; and what it
refuses comes up inside the trial as an exception, which the trial may catch, or an abort. A trial
that outruns the look is taken by the kernel (`oom_score_adj` in `worker`), at the cost of a less
telling message.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

from ablations.amounts import in_words
from ablations.executors.process_tree import (
    SEEN,
    descendants,
    resident_bytes,
    shared_out_bytes,
)

LOOK_SECONDS = 0.05
"""Between two looks; the fastest memory is taken at some 2 GiB a second and core."""


class Watched(Protocol):
    """A worker that stops its trial when that uses too much."""

    def stop_over(self, limit: int) -> None:
        """Look, and stop it if need be."""
        ...


@contextlib.contextmanager
def watched(workers: Sequence[Watched], limit: int | None) -> Iterator[None]:
    """Hold every trial of the workers to a limit in bytes, where that can be done."""
    if limit is None or not SEEN:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            for worker in workers:
                worker.stop_over(limit)

    thread = threading.Thread(target=watch, name="memory-limit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def memory_of(process: int, limit: int) -> int:
    """Bytes in use by a process and all below it; exact where that could be over the limit.

    Of files mapped into memory nothing is counted: the system can drop them.
    """
    processes = [process, *descendants(process)]
    used = sum(map(resident_bytes, processes))
    if used > limit and len(processes) > 1:  # what a fork shares would be counted twice
        return shared_out_bytes(processes) or used  # a kernel may not tell
    return used


def over_limit(used: int, limit: int | None) -> str:
    """What is said of a trial that was stopped."""
    return (
        f"stopped as it used {in_words(used)} of memory, over its limit of {in_words(limit or 0)}"
    )
