"""What each executor adds: to many short trials, and to the default grid with its report.

Ray is started on this machine alone, of as many cores as there are workers: before the clock where
it is joined, after it where `address: local` has it started and ended with the run.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ablations
from ablations.executors.cluster.connection import load_ray
from ablations.executors.local import Local
from ablations.executors.process_tree import resident_bytes
from ablations.executors.ray import Ray
from registry.contracts import Execution, Executor

GRID = Path(__file__).parents[2] / "grid.yaml"
WORKERS = 2
SHORT = 20_000
"""Trials of a millisecond."""
WARM = 100
"""Trials that are not counted: they wait for processes to start."""

Figures = dict[tuple[str, str], list[dict[str, float]]]


def rows(rounds: int) -> Iterator[dict[str, Any]]:
    """Of each work with each executor: seconds, over the local one's, and the driver's memory."""
    found: Figures = defaultdict(list)
    short, whole = f"{SHORT:,} trials of 1 ms", "the default grid"
    for _ in range(rounds):
        found[short, "local"].append(handed_out(Local(), trials=SHORT, milliseconds=1))
        with _ray_here():
            found[short, "ray"].append(handed_out(Ray(), trials=SHORT, milliseconds=1))
        found[whole, "local"].append(_grid(executor="local"))
        with _ray_here():
            found[whole, "ray"].append(_grid(executor="ray"))
        found[whole, "ray, address: local"].append(_grid(executor="ray", address="local"))
    for (work, executor), figures in found.items():
        locally = found[work, "local"]
        ratios = [a["seconds"] / b["seconds"] for a, b in zip(figures, locally, strict=True)]
        yield {
            "work": work,
            "executor": executor,
            "seconds": statistics.median(one["seconds"] for one in figures),
            "over local": statistics.median(ratios),
            "trials a second": statistics.median(one["rate"] for one in figures),
            "driver grew by MiB": statistics.median(one["grown"] for one in figures)
            if work == short
            else "—",  # there it imports what draws the report
        }


def handed_out(executor: Executor, *, trials: int, milliseconds: float) -> dict[str, float]:
    """Seconds of all but the first `WARM` trials, their rate, and what the driver grew by in MiB.

    `ahead` is how many more trials had been taken than had ended, at most.
    """
    taken, ahead = 0, 0

    def seconds_of_each() -> Iterator[float]:
        nonlocal taken
        for number in range(trials):
            taken = number + 1
            yield milliseconds / 1000

    begun, before, ended = 0.0, 0, 0
    outcomes = executor.execute(seconds_of_each(), time.sleep, Execution(workers=WORKERS))
    for ended, outcome in enumerate(outcomes, start=1):
        assert outcome.state == "done", outcome.message
        ahead = max(ahead, taken - ended)
        if ended == WARM:
            begun, before = time.perf_counter(), resident_bytes(os.getpid())
        if ended == trials:
            seconds = time.perf_counter() - begun
            grown = resident_bytes(os.getpid()) - before
    assert ended == trials
    rate = (trials - WARM) / seconds
    return {"seconds": seconds, "rate": rate, "grown": grown / 2**20, "ahead": float(ahead)}


def _grid(**how: Any) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        summary = ablations.run(ablations.load_grid(GRID), Path(folder), workers=WORKERS, **how)
        seconds = time.perf_counter() - begun
    assert summary.states == {"done": summary.trials}, summary.states
    return {"seconds": seconds, "rate": summary.trials / seconds}


@contextmanager
def _ray_here() -> Iterator[None]:
    ray = load_ray()
    ray.init(
        address="local", num_cpus=WORKERS, include_dashboard=False, _node_ip_address="127.0.0.1"
    )
    try:
        yield
    finally:
        ray.shutdown()
