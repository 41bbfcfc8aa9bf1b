"""Results kept a second, each trial a transaction that outlives a power cut.

Beside the store: SQLite alone, the same rows in as many transactions, on the same disk.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import ablations
from ablations.record import run_plan
from ablations.results import MeasureResult, ProfileValues, TrialResult
from ablations.store import Store
from registry.contracts import Execution

ROWS = 70
"""Of a trial: one of the trial itself, some metrics, and a profile."""
METRICS = 9


def rows(rounds: int, trials: int = 1000) -> Iterator[dict[str, Any]]:
    """Median trials a second of each."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for name, keep in (("store", _store), ("SQLite alone", _alone)):
            with tempfile.TemporaryDirectory() as folder:
                found[name].append(trials / keep(Path(folder), trials))
    for name, rates in found.items():
        ratios = [rate / alone for rate, alone in zip(rates, found["SQLite alone"], strict=True)]
        yield {
            "contender": name,
            "trials a second": statistics.median(rates),
            "over SQLite alone": statistics.median(ratios),
        }


def _store(folder: Path, trials: int) -> float:
    grid = {"name": "kept", "seeds": trials, "measures": ["gradient_flow"]}
    grid |= {"model": {"depth": 2, "d_model": 8, "n_heads": 2}, "factors": {"norm": ["layernorm"]}}
    planned = ablations.plan(ablations.load_grid(grid))
    plan = run_plan(planned, executor="inline", execution=Execution(), out=folder)
    ((cell, measure), identity), *_ = plan.identities.items()
    with Store.create_or_open(folder) as store:
        store.begin(plan)
        begun = time.perf_counter()
        for seed in range(trials):
            store.record(
                TrialResult(
                    cell=cell,
                    seed=seed,
                    measures=(
                        MeasureResult(
                            measure=measure,
                            identity=identity,
                            state="done",
                            metrics={f"gradient_flow.m{n}": n + 0.5 for n in range(METRICS)},
                            profiles={
                                "gradient_flow.sensitivity": ProfileValues.at(
                                    "depth", {n: n + 0.5 for n in range(ROWS - METRICS - 1)}
                                )
                            },
                        ),
                    ),
                )
            )
        return time.perf_counter() - begun


def _alone(folder: Path, trials: int) -> float:
    with closing(sqlite3.connect(folder / "alone.sqlite")) as connection:
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE TABLE rows (trial INTEGER, name TEXT, position INTEGER, value REAL,"
            " PRIMARY KEY (trial, name, position)) WITHOUT ROWID;"
        )
        begun = time.perf_counter()
        for trial in range(trials):
            with connection:
                connection.executemany(
                    "INSERT INTO rows VALUES (?, 'gradient_flow.sensitivity', ?, ?)",
                    [(trial, n, n + 0.5) for n in range(ROWS)],
                )
        return time.perf_counter() - begun
