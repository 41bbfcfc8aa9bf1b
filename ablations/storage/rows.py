"""Results as rows of the store's tables."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ablations.results import MeasureResult


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Add rows to a table, all of its columns in order."""
    rows = list(rows)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608


def result_rows(measure: MeasureResult) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each table, less the key they share."""
    return {
        "trials": [
            (
                measure.identity,
                measure.state,
                _text(measure.message),
                _text(measure.traceback),
                ",".join(measure.marks),
                _number(measure.seconds),
            )
        ],
        "warnings": [(_text(text),) for text in dict.fromkeys(measure.warnings)],
        "metrics": [(name, _number(value)) for name, value in measure.metrics.items()],
        "profiles": [
            (name, profile.axis, position, step, _number(value))
            for name, profile in measure.profiles.items()
            for position, step, value in zip(
                profile.positions,
                profile.steps or (0,) * len(profile.values),
                profile.values,
                strict=True,
            )
        ],
        "arrays": [
            (name, document(array.shape), array.dtype, array.data)
            for name, array in measure.arrays.items()
        ],
    }


def _number(value: float) -> float | str:
    value = float(value)
    return "nan" if math.isnan(value) else value


def _text(value: str) -> str:
    """Text that UTF-8 can hold: an exception's may contain half a surrogate pair."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def document(value: Any) -> str:
    """A plain value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def read_document(connection: sqlite3.Connection, key: str) -> dict[str, Any]:
    """What `meta` holds under a key; empty where it holds nothing."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    found: dict[str, Any] = json.loads(row[0]) if row else {}
    return found
