"""What is known of the components of a run, and what that says of its trials."""

from __future__ import annotations

import json
import sqlite3

from ablations.conformity import Conformity, cell_marks, from_document
from ablations.storage.rows import read_document

CONFORMITIES, EXAMINED = "conformities", "examined"
"""Keys of `meta`: what was found, by an examination's key; and each cell's keys."""


def read_conformities(connection: sqlite3.Connection) -> dict[str, Conformity]:
    """What was found of components, of whatever grid, by the keys of their examinations."""
    documents = read_document(connection, CONFORMITIES)
    return {key: from_document(found) for key, found in documents.items()}


def read_marks(
    connection: sqlite3.Connection, cell: str | None = None
) -> dict[str, tuple[str, ...]]:
    """The marks that the components of each cell, or of one, of the grid last run give."""
    known = read_conformities(connection)
    sets: dict[tuple[str, ...], tuple[str, ...]] = {}  # few, whatever the number of cells
    marks = {}
    for of, keys in _read_examined(connection, cell).items():
        examined = tuple(keys)
        if examined not in sets:
            sets[examined] = cell_marks(examined, known)
        marks[of] = sets[examined]
    return marks


def _read_examined(connection: sqlite3.Connection, cell: str | None) -> dict[str, list[str]]:
    if cell is None:
        return read_document(connection, EXAMINED)
    row = connection.execute(
        "SELECT json_extract(value, ?) FROM meta WHERE key = ?", (f'$."{cell}"', EXAMINED)
    ).fetchone()
    return {cell: json.loads(row[0])} if row and row[0] else {}


def joined(own: str, added: tuple[str, ...]) -> str:
    """Marks of a trial as text, those of its components added."""
    return ",".join(dict.fromkeys([*filter(None, own.split(",")), *added]))
