"""Workers and threads: trials a second of the engine, and of bare loops in processes of their own.

Both on this machine's cores, in turn; a speed-up is over one worker of one thread in its round.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ablations
from tests.benchmarks.engine import grid
from tests.benchmarks.peers import Size, peers

WAYS = ((1, 1), (2, 1), (1, 2))
"""Workers and threads of each."""
SECONDS = 8.0
"""That a bare loop goes on for."""


def rows(size: Size, rounds: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Of each way its median trials a second and speed-up, of the engine and of bare loops."""
    found: defaultdict[tuple[str, int, int], list[float]] = defaultdict(list)
    for _ in range(rounds):
        for workers, threads in WAYS:
            found["engine", workers, threads].append(_engine(size, seeds, workers, threads))
            found["bare", workers, threads].append(_bare(size, workers, threads))
    for (what, workers, threads), rates in found.items():
        speed_ups = [rate / one for rate, one in zip(rates, found[what, 1, 1], strict=True)]
        yield {
            "contender": what,
            "workers": workers,
            "threads": threads,
            "trials a second": statistics.median(rates),
            "speed-up": statistics.median(speed_ups),
        }


def _engine(size: Size, seeds: int, workers: int, threads: int) -> float:
    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        ablations.run(
            ablations.load_grid({**grid(size, seeds), "threads": threads}),
            Path(folder),
            workers=workers,
            ended=lambda state: ended.append(time.perf_counter()),
        )
    # From the first trial of each worker on: what starting them costs is another figure.
    return (len(ended) - workers) / (ended[-1] - ended[workers - 1])


def _bare(size: Size, processes: int, threads: int) -> float:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes)
    rates = context.SimpleQueue()
    loops = [
        context.Process(target=_loop, args=(size, threads, together, rates))
        for _ in range(processes)
    ]
    for loop in loops:
        loop.start()
    told = [rates.get() for _ in loops]
    for loop in loops:
        loop.join()
    return sum(told)


def _loop(size: Size, threads: int, together: Any, rates: Any) -> None:
    import torch

    torch.set_num_threads(threads)
    trial = dict(peers(size))["bare"]
    trial(0)
    together.wait()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        trial(count)
        count += 1
    rates.put(count / (time.perf_counter() - begun))
