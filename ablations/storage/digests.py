"""Digests of what was recorded, by which a later reader knows that it is what was recorded.

SQLite sees damage to the structure of a file, but a byte that flips within a value leaves another
value: a wrong figure that looks right. So a digest of each result, and one of the plan, stand
beside them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

Key = tuple[str, int, str]
"""Cell, seed and measure."""

RESULTS = {
    "trials": "cell, seed, measure",
    "warnings": "cell, seed, measure, text",
    "metrics": "cell, seed, measure, metric",
    "profiles": "cell, seed, measure, profile, step, position",
    "arrays": "cell, seed, measure, name",
}
"""The tables of results, each with its key."""

SEAL, FOUND_SEAL = "digest", "conformity_digest"
"""The keys of `meta` that hold the digest of the plan, and that of what was found of components and
blocks, which becomes more while a run goes on: a large plan is not read again for each of them."""

_FOUND = "SELECT value FROM meta WHERE key IN ('conformities', 'views') ORDER BY key"
_PLAN = (
    "SELECT key, value FROM meta "
    "WHERE key NOT IN ('digest', 'conformities', 'views', 'conformity_digest') ORDER BY key",
    "SELECT * FROM cells WHERE cell IN (SELECT cell FROM plan) ORDER BY cell",
    "SELECT * FROM plan ORDER BY position",
    "SELECT * FROM plan_seeds ORDER BY position",
    "SELECT * FROM plan_measures ORDER BY position",
    "SELECT * FROM plan_identities ORDER BY cell, measure",
)


def seal_result(connection: sqlite3.Connection, key: Key) -> None:
    """Keep the digest of a result that has been written, within the same transaction."""
    (found,) = _results(connection, key).values()
    connection.execute("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?)", (*key, found))


def seal_plan(connection: sqlite3.Connection) -> None:
    """Keep the digest of the plan and what explains it, within the same transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (SEAL, _plan(connection)))


def seal_found(connection: sqlite3.Connection) -> None:
    """Keep the digest of what was found of components and blocks, within the same transaction."""
    row = (FOUND_SEAL, _found(connection))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)


def seal_all(connection: sqlite3.Connection) -> None:
    """Keep the digests of everything, as it is now."""
    connection.executemany(
        "INSERT INTO digests VALUES (?, ?, ?, ?)",
        ((*key, found) for key, found in _results(connection).items()),
    )
    seal_plan(connection)
    seal_found(connection)


def broken(connection: sqlite3.Connection) -> str:
    """The first thing that is not as it was recorded, in words; empty if all is."""
    connection.execute("BEGIN")  # all at one moment, while a run goes on
    try:
        held = {tuple(row[:3]): row[3] for row in connection.execute("SELECT * FROM digests")}
        found = _results(connection)
        seals = dict(
            connection.execute(
                "SELECT key, value FROM meta WHERE key IN (?, ?)", (SEAL, FOUND_SEAL)
            )
        )
        begun = connection.execute("SELECT count(*) FROM meta").fetchone() != (0,)
        whole = {SEAL: _plan(connection), FOUND_SEAL: _found(connection)}
    finally:
        connection.execute("ROLLBACK")
    for key in sorted(held.keys() | found.keys()):
        if held.get(key) != found.get(key):
            cell, seed, measure = key
            return f"{measure} of cell {cell}, seed {seed}, is not as it was recorded"
    if begun and seals != whole:
        return "its plan is not as it was recorded"
    return ""


def _results(connection: sqlite3.Connection, only: Key | None = None) -> dict[Key, str]:
    hashes: defaultdict[Key, Any] = defaultdict(hashlib.sha256)
    which = "WHERE cell = ? AND seed = ? AND measure = ?" if only else ""
    for table, order in RESULTS.items():
        query = f"SELECT * FROM {table} {which} ORDER BY {order}"  # noqa: S608
        for row in connection.execute(query, only or ()):
            _feed(hashes[row[:3]], (table, *row[3:]))
    return {key: found.hexdigest() for key, found in hashes.items()}


def _plan(connection: sqlite3.Connection) -> str:
    found = hashlib.sha256()
    for query in _PLAN:
        _feed_rows(found, connection.execute(query))
    return found.hexdigest()


def _found(connection: sqlite3.Connection) -> str:
    found = hashlib.sha256()
    _feed_rows(found, connection.execute(_FOUND))
    return found.hexdigest()


def _feed_rows(found: Any, rows: Iterable[Sequence[Any]]) -> None:
    for row in rows:
        _feed(found, row)
    found.update(b"end")


def _feed(found: Any, row: Sequence[Any]) -> None:
    """Values in a form in which no two rows are alike."""
    plain = [len(value) if isinstance(value, bytes) else value for value in row]
    found.update(repr(plain).encode("utf-8", "surrogatepass"))
    for value in row:
        if isinstance(value, bytes):
            found.update(value)
