"""The engine as a contender: a grid of all combinations, planned, measured, kept and reported."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ablations
from ablations import engine
from tests.benchmarks.peers import Size


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Seconds a trial of one run of the engine; `measuring` those within trials alone."""

    trial: float
    measuring: float


def grid(size: Size, seeds: int) -> Mapping[str, Any]:
    """Eight cells around the contenders' one."""
    return {
        "name": "benchmark",
        "model": {
            "depth": size.depth,
            "d_model": size.d_model,
            "n_heads": size.n_heads,
            "context": size.tokens,
            "vocab_size": size.vocab_size,
            "position": "rope",
            "bias": False,
        },
        "factors": {
            "norm": ["rmsnorm", "layernorm"],
            "activation": ["swiglu", "gelu"],
            "placement": ["pre", "post"],
        },
        "seeds": seeds,
        "measures": ["parameters", {"gradient_flow": {"batch": 1}}],
    }


def carried(size: Size, seeds: int, out: Path) -> Carried:
    """Carry the grid out in this process, report and all."""
    seconds: list[float] = []
    measure = engine.carry_out

    def timed(task: Any) -> Any:
        begun = time.perf_counter()
        try:
            return measure(task)
        finally:
            if hasattr(task, "measures"):
                seconds.append(time.perf_counter() - begun)

    engine.carry_out = timed
    try:
        begun = time.perf_counter()
        summary = ablations.run(ablations.load_grid(grid(size, seeds)), out, executor="inline")
        whole = time.perf_counter() - begun
    finally:
        engine.carry_out = measure
    assert summary.states == {"done": summary.trials}
    return Carried(trial=whole / summary.trials, measuring=sum(seconds) / summary.trials)
