"""What it costs to hand trials out: many short ones, on Ray and on local workers in turn.

    python -m tests.benchmarks.ray_scheduling [--trials 20000] [--milliseconds 1] [--workers 2]
        [--rounds 1] [--json FILE]

Ray is started for it on this machine alone. The first 100 trials, which wait for processes to
start, are not counted. The driver's memory is what it has taken between the 100th and the last.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablations.executors.local import Local
from ablations.executors.process_tree import resident_bytes
from ablations.executors.ray import Ray
from registry.contracts import Execution, Executor

WARM = 100


def handed_out(
    executor: Executor, *, trials: int, milliseconds: float, workers: int
) -> dict[str, float]:
    """Trials a second, what the driver's memory grew by in MiB, and the most taken ahead."""
    taken, ahead = 0, 0

    def seconds_of_each() -> Iterator[float]:
        nonlocal taken
        for number in range(trials):
            taken = number + 1
            yield milliseconds / 1000

    begun, before, ended = 0.0, 0, 0
    outcomes = executor.execute(seconds_of_each(), time.sleep, Execution(workers=workers))
    for ended, outcome in enumerate(outcomes, start=1):
        assert outcome.state == "done", outcome.message
        ahead = max(ahead, taken - ended)
        if ended == WARM:
            begun, before = time.perf_counter(), resident_bytes(os.getpid())
        if ended == trials:
            seconds = time.perf_counter() - begun
            grown = resident_bytes(os.getpid()) - before
    assert ended == trials
    return {
        "trials a second": (trials - WARM) / seconds,
        "driver grew by MiB": grown / 2**20,
        "most taken ahead": float(ahead),
    }


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20_000)
    parser.add_argument("--milliseconds", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: list[dict[str, Any]] = []
    for number in range(asked.rounds):
        for name, executor in (("local", Local()), ("ray", Ray(address="local"))):
            told = handed_out(
                executor,
                trials=asked.trials,
                milliseconds=asked.milliseconds,
                workers=asked.workers,
            )
            found.append({"round": number, "executor": name, **told})
            words = ", ".join(f"{value:.4g} {key}" for key, value in told.items())
            print(f"{name}: {words}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
