"""How the cost of a trial grows with what it builds, and that of a run with its cells."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.benchmarks.engine import carried
from tests.benchmarks.peers import Size

START = Size(d_model=256, depth=6, tokens=64)
AXES = {
    "depth": (3, 6, 12, 24),
    "d_model": (128, 256, 512, 1024),
    "tokens": (32, 64, 128, 256, 512),
    "vocab_size": (256, 4096, 32768),
}
"""One at a time from `START`, each about twice the one before."""
SEEDS = (1, 4, 16)
"""Of a grid of eight small cells: what a trial costs where there are more of them."""
SMALL = Size(d_model=128, depth=2, tokens=16)


def rows(rounds: int) -> Iterator[dict[str, Any]]:
    """Median seconds a trial at each size, interleaved round by round, and over the first's."""
    for axis, values in AXES.items():
        sizes = {value: replace(START, **{axis: value}) for value in values}
        yield from _grown(axis, {value: (size, 1) for value, size in sizes.items()}, rounds)
    yield from _grown("trials", {8 * seeds: (SMALL, seeds) for seeds in SEEDS}, rounds)


def _grown(axis: str, asked: dict[int, tuple[Size, int]], rounds: int) -> Iterator[dict[str, Any]]:
    found: dict[int, list[float]] = {value: [] for value in asked}
    for place in range(rounds + 1):  # the first warms up
        for value, (size, seeds) in asked.items():
            with tempfile.TemporaryDirectory() as folder:
                told = carried(size, seeds, Path(folder), few=True, draw=False)
            if place:
                found[value].append(told.measuring if axis in AXES else told.trial)
    first = statistics.median(next(iter(found.values())))
    for value, seconds in found.items():
        median = statistics.median(seconds)
        yield {"axis": axis, "value": value, "seconds": median, "ratio": median / first}
