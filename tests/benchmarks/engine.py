"""The engine as a contender: a grid of all combinations, planned, measured, kept and compared."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ablations
from ablations import engine
from reports.training.compared import compare
from tests.benchmarks.peers import Size


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Seconds a trial of one run: all but drawing its report, and those within trials alone.

    `report` are the seconds of the report, once a run.
    """

    trial: float
    measuring: float
    report: float


def grid(size: Size, seeds: int, *, few: bool = False) -> Mapping[str, Any]:
    """The default grid's 72 cells at that size, or eight of a `few`; one is the contenders'."""
    attention = ["mha", {"gqa": {"n_kv_heads": size.n_heads // 2}}, "mqa"]
    factors: dict[str, list[Any]] = {
        "norm": ["layernorm", "rmsnorm"],
        "activation": ["gelu", "silu", "swiglu"],
        "attention": attention,
        "bias": [True, False],
        "placement": ["pre", "post"],
    }
    if few:
        factors = {"norm": factors["norm"], "activation": ["gelu", "swiglu"]} | {
            "placement": factors["placement"]
        }
    return {
        "name": "benchmark",
        "model": {
            "depth": size.depth,
            "d_model": size.d_model,
            "n_heads": size.n_heads,
            "context": size.tokens,
            "vocab_size": size.vocab_size,
            "position": "rope",
            **({"bias": False} if few else {}),
        },
        "factors": factors,
        "seeds": seeds,
        "measures": ["parameters", {"gradient_flow": {"batch": 1}}],
    }


def carried(size: Size, seeds: int, out: Path, *, few: bool = False, draw: bool = True) -> Carried:
    """Carry the grid out in this process, statistics and all, and `draw` its report or not."""
    within: list[float] = []
    reporting: list[float] = []

    def timed(function: Any, told: list[float], applies: Any) -> Any:
        def call(given: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(given)
            finally:
                if applies(given):
                    told.append(time.perf_counter() - begun)

        return call

    measure, report = engine.carry_out, engine.write_report
    engine.carry_out = timed(measure, within, lambda task: hasattr(task, "measures"))
    engine.write_report = timed(report if draw else Path, reporting, lambda out: True)
    try:
        begun = time.perf_counter()
        loaded = ablations.load_grid(grid(size, seeds, few=few))
        summary = ablations.run(loaded, out, executor="inline")
        whole = time.perf_counter() - begun - sum(reporting)
    finally:
        engine.carry_out, engine.write_report = measure, report
    assert summary.states == {"done": summary.trials}
    begun = time.perf_counter()
    assert len(compare(ablations.open_run(out).frames()).effects)
    whole += time.perf_counter() - begun
    return Carried(
        trial=whole / summary.trials,
        measuring=sum(within) / summary.trials,
        report=sum(reporting),
    )
