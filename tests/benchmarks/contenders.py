"""Seconds a trial of the engine and of its peers, in turn, round by round."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tests.benchmarks.engine import carried
from tests.benchmarks.peers import Size, Trial, peers

ENGINE, MEASURING = "ablations", "ablations, within trials"


def rounds(size: Size, n: int, trials: int, seeds: int, *, few: bool) -> dict[str, list[float]]:
    """Seconds a trial of each contender in each round; a first round warms up and is left out."""
    contenders = list(peers(size))
    found: defaultdict[str, list[float]] = defaultdict(list)
    for place in range(n + 1):
        told = {name: _seconds(trial, trials) for name, trial in contenders}
        with tempfile.TemporaryDirectory() as folder:
            # What is kept between trials is warm after few.
            own = carried(size, seeds, Path(folder), few=few or not place, draw=False)
        told |= {ENGINE: own.trial, MEASURING: own.measuring}
        if place:
            for name, seconds in told.items():
                found[name].append(seconds)
    return dict(found)


def _seconds(trial: Trial, n: int) -> float:
    begun = time.perf_counter()
    for seed in range(n):
        trial(seed)
    return (time.perf_counter() - begun) / n


def table(size: Size, found: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
    """Of each contender its median seconds, and how the engine's compare: median and range."""
    for name, seconds in found.items():
        ratios = [own / other for own, other in zip(found[ENGINE], seconds, strict=True)]
        yield {
            "d_model": size.d_model,
            "contender": name,
            "seconds a trial": statistics.median(seconds),
            "ablations over it": statistics.median(ratios),
            "lowest": min(ratios),
            "highest": max(ratios),
        }


def rows(n: int) -> Iterator[dict[str, Any]]:
    """The contenders at both widths."""
    torch.set_num_threads(1)
    for width, seeds in ((256, 5), (768, 1)):
        size = Size(d_model=width)
        yield from table(size, rounds(size, n, 4, seeds, few=False))
