"""The trials of a grid as those hear of them who follow its run."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from ablations.results import worst
from ablations.storage.conformity import joined, read_marks
from ablations.storage.frames import PLANNED
from registry.events import TrialInfo

TRIALS = f"""
SELECT cell, seed, label, levels, measure, state, message, marks, seconds
{PLANNED} JOIN cells USING (cell)
WHERE plan.skipped IS NULL
"""
METRICS = f"""
SELECT cell, seed, metric, value
{PLANNED} JOIN metrics USING (cell, seed, measure)
WHERE plan.skipped IS NULL
"""
ONE = "AND cell = ? AND seed = ?"
ORDER = "ORDER BY plan.position, plan_seeds.position, plan_measures.position"


def read_trials(
    connection: sqlite3.Connection, only: tuple[str, int] | None = None
) -> list[TrialInfo]:
    """The trials of the grid last run that have results, in its order; `only` that cell and seed.

    Results of another identity than the planned one count as not there.
    """
    which, key = (f"{ONE} {ORDER}", only) if only else (ORDER, ())
    connection.execute("BEGIN")  # both at one moment
    try:
        rows = connection.execute(TRIALS + which, key).fetchall()
        metrics = connection.execute(METRICS + which, key).fetchall()
        of_cells = read_marks(connection, only[0] if only else None)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for cell, seed, label, levels, measure, state, message, marks, seconds in rows:
        trial = found.setdefault((cell, seed), _begun(label, levels))
        trial["states"][measure] = state
        if message:
            trial["messages"][measure] = message
        marks = joined(marks, of_cells.get(cell, ()))
        trial["marks"] |= dict.fromkeys(filter(None, marks.split(",")))
        trial["seconds"] += float(seconds)
    for cell, seed, metric, value in metrics:
        found[cell, seed]["metrics"][metric] = float(value)  # a NaN is kept as the text 'nan'
    return [
        TrialInfo(
            **{**trial, "marks": tuple(trial["marks"])},
            cell=cell,
            seed=seed,
            state=worst(trial["states"].values()),
        )
        for (cell, seed), trial in found.items()
    ]


def _begun(label: str, levels: str) -> dict[str, Any]:
    return {
        "label": label,
        "levels": json.loads(levels),
        "states": {},
        "messages": {},
        "metrics": {},
        "marks": {},
        "seconds": 0.0,
    }
