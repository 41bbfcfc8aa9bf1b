"""The store's tables as the frames that a report is made from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablations.storage.arrays import StoredArrays
from ablations.storage.blocks import read_views, seen_rows
from ablations.storage.conformity import joined, read_conformities, read_marks
from ablations.storage.schema import nothing_run

if TYPE_CHECKING:
    import pandas as pd

    from reports.frames import Frames

# A measure that has no identity in a cell is not done to it; results of another identity than
# the planned one belong to an edited plugin or another environment, and count as not there.
TRIALS = """
SELECT plan.cell, plan_seeds.seed, plan_measures.measure,
    CASE WHEN plan.skipped IS NULL THEN coalesce(trials.state, 'missing') ELSE 'skipped' END,
    coalesce(plan.skipped, trials.message, ''),
    coalesce(trials.marks, ''),
    coalesce(trials.seconds, 0.0)
FROM plan
CROSS JOIN plan_seeds
CROSS JOIN plan_measures
LEFT JOIN plan_identities USING (cell, measure)
LEFT JOIN trials USING (cell, seed, measure, identity)
WHERE plan.skipped IS NOT NULL OR plan_identities.identity IS NOT NULL
ORDER BY plan.position, plan_seeds.position, plan_measures.position
"""

PLANNED = """
FROM plan
CROSS JOIN plan_seeds
CROSS JOIN plan_measures
JOIN plan_identities USING (cell, measure)
JOIN trials USING (cell, seed, measure, identity)
"""

METRICS = f"""
SELECT cell, seed, metric, value {PLANNED} JOIN metrics USING (cell, seed, measure)
WHERE plan.skipped IS NULL
ORDER BY plan.position, plan_seeds.position, plan_measures.position, metric
"""

PROFILES = f"""
SELECT cell, seed, profile, axis, profiles.position, step, value
{PLANNED} JOIN profiles USING (cell, seed, measure)
WHERE plan.skipped IS NULL
ORDER BY plan.position, plan_seeds.position, plan_measures.position, profile, step,
    profiles.position
"""

ARRAYS = f"""
SELECT cell, seed, name, measure, identity {PLANNED} JOIN arrays USING (cell, seed, measure)
WHERE plan.skipped IS NULL
ORDER BY plan.position, plan_seeds.position, plan_measures.position, name
"""

WARNINGS = f"""
SELECT cell, seed, measure, text {PLANNED} JOIN warnings USING (cell, seed, measure)
WHERE plan.skipped IS NULL
ORDER BY plan.position, plan_seeds.position, plan_measures.position, text
"""

INTEGER, NUMBER, FLAG, TEXT = "int64", "float64", "bool", "str"

COLUMNS = {
    "trials": {
        "cell": TEXT,
        "seed": INTEGER,
        "measure": TEXT,
        "state": TEXT,
        "message": TEXT,
        "marks": TEXT,
        "seconds": NUMBER,
    },
    "warnings": {"cell": TEXT, "seed": INTEGER, "measure": TEXT, "text": TEXT},
    "metrics": {"cell": TEXT, "seed": INTEGER, "metric": TEXT, "value": NUMBER},
    "profiles": {
        "cell": TEXT,
        "seed": INTEGER,
        "profile": TEXT,
        "axis": TEXT,
        "position": INTEGER,
        "step": INTEGER,
        "value": NUMBER,
    },
    "metric_info": {
        "metric": TEXT,
        "form": TEXT,
        "measure": TEXT,
        "unit": TEXT,
        "better": TEXT,
        "scale": TEXT,
        "primary": FLAG,
        "summary": TEXT,
        "convention": TEXT,
    },
    "factors": {"factor": TEXT, "level": TEXT, "position": INTEGER, "baseline": FLAG},
    "settings": {"key": TEXT, "value": TEXT, "origin": TEXT},
    "components": dict.fromkeys(
        ("kind", "name", "plugin", "version", "options", "summary", "source"), TEXT
    ),
    "environment": {"key": TEXT, "value": TEXT},
    "blocks": {"block": TEXT, "call": INTEGER, "part": TEXT, "inputs": TEXT},
}
OPTIONAL = {
    "metric_info": {
        "exact": FLAG,
        "scales_with": TEXT,
        "defined_when_diverged": FLAG,
        "may_be_infinite": FLAG,
        "compared": FLAG,
    },
    "components": {"conformance": TEXT},
    "blocks": {"reason": TEXT},
}

_ROWS = 1 << 16
"""Read at a time."""

DOCUMENTS = ("metric_info", "factors", "settings", "components", "environment", "blocks")
"""Tables that are kept whole, as JSON."""


def read_frames(connection: sqlite3.Connection, path: Path) -> Frames:
    """Everything that belongs to the grid last run, as one moment saw it; arrays as they are asked
    for, from the file at `path`."""
    from reports.frames import Frames

    connection.execute("BEGIN")
    try:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        if not meta:
            raise nothing_run(path)
        tables = {
            name: _long_frame(connection.execute(query), COLUMNS[name])
            for name, query in (("metrics", METRICS), ("profiles", PROFILES))
        }
        warned = connection.execute(WARNINGS).fetchall() if _has_warnings(connection) else []
        tables["warnings"] = _frame(warned, COLUMNS["warnings"])
        trials = connection.execute(TRIALS).fetchall()
        documents = {name: json.loads(meta.get(name, "[]")) for name in DOCUMENTS}
        marks, conformities = read_marks(connection), read_conformities(connection)
        views = read_views(connection)
        cells = connection.execute(
            "SELECT cell, label, levels FROM plan JOIN cells USING (cell) ORDER BY position"
        ).fetchall()
        arrays = {
            (cell, seed, name): (measure, identity)
            for cell, seed, name, measure, identity in connection.execute(ARRAYS)
        }
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    tables["trials"] = _frame([_marked(row, marks) for row in trials], COLUMNS["trials"])
    for row in documents["components"]:
        if "examination" in row:
            found = conformities.get(row["examination"])
            row["conformance"] = found.text if found else "not examined"
    documents["blocks"] = list(seen_rows(documents["blocks"], views))
    for name, rows in documents.items():
        columns = COLUMNS[name] | {
            column: kind
            for column, kind in OPTIONAL.get(name, {}).items()
            if any(column in row for row in rows)
        }
        tables[name] = _frame([[row[column] for column in columns] for row in rows], columns)
    factors = list(dict.fromkeys(row["factor"] for row in documents["factors"]))
    tables["cells"] = _frame(
        [
            [cell, label, *map(json.loads(levels).__getitem__, factors)]
            for cell, label, levels in cells
        ],
        dict.fromkeys(("cell", "label", *factors), TEXT),
    )
    stored = StoredArrays(path.absolute(), arrays)
    return Frames(name=meta["name"], grid=meta["grid"], arrays=stored, **tables)


def _long_frame(rows: sqlite3.Cursor, columns: dict[str, str]) -> pd.DataFrame:
    """A frame of what may be millions of rows, which are never all there as Python's own objects.

    Its texts are few and stand in many rows, so that they are categories.
    """
    import numpy as np
    import pandas as pd

    places: dict[str, dict[str, int]] = {name: {} for name in columns}
    parts: dict[str, list[Any]] = {name: [] for name in columns}
    while some := rows.fetchmany(_ROWS):
        for (name, kind), values in zip(columns.items(), zip(*some, strict=True), strict=True):
            if kind == TEXT:
                known = places[name]
                codes = [known.setdefault(text, len(known)) for text in values]
                parts[name].append(np.array(codes, dtype=np.int32))
            else:  # 'nan' is how the store keeps a NaN; float() reads it
                parts[name].append(np.array(values, dtype=kind))
    found: dict[str, Any] = {}
    for name, kind in columns.items():
        dtype = np.int32 if kind == TEXT else kind
        column = np.concatenate([np.empty(0, dtype=dtype), *parts.pop(name)])
        if kind == TEXT:
            texts = pd.Index(list(places[name]), dtype=TEXT)
            found[name] = pd.Categorical.from_codes(column, categories=texts)
        else:
            found[name] = column
    return pd.DataFrame(found, copy=False)


def _has_warnings(connection: sqlite3.Connection) -> bool:
    """Whether the file has that table: one that was last written before there was one has none."""
    query = "SELECT count(*) FROM sqlite_schema WHERE name = 'warnings'"
    return bool(connection.execute(query).fetchone()[0])


def _marked(row: tuple[Any, ...], marks: Mapping[str, tuple[str, ...]]) -> tuple[Any, ...]:
    """A trial's row with the marks of its cell's components, where it has been measured."""
    cell, seed, measure, state, message, own, seconds = row
    if state in ("done", "diverged"):
        own = joined(own, marks.get(cell, ()))
    return cell, seed, measure, state, message, own, seconds


def _frame(rows: list[Any], columns: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    # 'nan' is how the store keeps a NaN; float() reads it.
    return pd.DataFrame(rows, columns=list(columns), dtype=object).astype(columns)
