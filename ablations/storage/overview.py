"""What a run is and how far it got, without reading its figures."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ablations.storage.frames import TRIALS
from ablations.storage.schema import nothing_run

BY_GRAVITY = ("done", "missing", "skipped", "diverged", "timeout", "crashed", "failed")
"""States of a trial's measures; the trial has the last of them in this order."""


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A run at one moment.

    Attributes:
        name: The grid's name.
        factors: By factor its levels, in the grid's order.
        n_cells: Cells, skipped ones among them.
        seeds: In the grid's order.
        measures: In the grid's order.
        states: How many trials are in each state that some are in.
    """

    name: str
    factors: Mapping[str, tuple[str, ...]]
    n_cells: int
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    states: Mapping[str, int]

    @property
    def n_trials(self) -> int:
        """All of them, also those that are yet to be run."""
        return sum(self.states.values())

    @property
    def n_missing(self) -> int:
        """Trials that are yet to be run, some of whose measures may be done."""
        return self.states.get("missing", 0)


def read_overview(connection: sqlite3.Connection, path: Path) -> Overview:
    """Of the grid last run, as one moment saw it; `path` is the file. Raises: NoRun."""
    connection.execute("BEGIN")
    try:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        if "grid" not in meta:
            raise nothing_run(path)
        (n_cells,) = connection.execute("SELECT count(*) FROM plan").fetchone()
        seeds = connection.execute("SELECT seed FROM plan_seeds ORDER BY position").fetchall()
        measures = connection.execute("SELECT measure FROM plan_measures ORDER BY position")
        names = tuple(name for (name,) in measures)
        worst: dict[tuple[str, int], int] = {}
        for cell, seed, _, state, *_ in connection.execute(TRIALS):
            place = BY_GRAVITY.index(state)
            worst[cell, seed] = max(place, worst.get((cell, seed), 0))
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    levels: dict[str, list[str]] = {}
    for row in json.loads(meta["factors"]):
        levels.setdefault(row["factor"], []).append(row["level"])
    counts = Counter(worst.values())
    return Overview(
        name=meta["name"],
        factors={factor: tuple(known) for factor, known in levels.items()},
        n_cells=n_cells,
        seeds=tuple(seed for (seed,) in seeds),
        measures=names,
        states={state: counts[i] for i, state in enumerate(BY_GRAVITY) if counts[i]},
    )
