"""The tables of DIR/results.sqlite, and how the file is opened."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from ablations.storage.errors import NotAStore, StoreError, damaged, explained

FILE = "results.sqlite"
APPLICATION = 0x61626C61  # "abla", where SQLite lets a file say whose it is
VERSION = 1
BUSY_SECONDS = 30.0

# A value is ANY, since SQLite turns NaN into NULL: NaN is the text 'nan', all else a REAL.
# What is asked for together lies together: the tables of results are ordered by their keys.
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE cells (
    cell TEXT PRIMARY KEY, label TEXT NOT NULL, levels TEXT NOT NULL, content TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE plan (
    position INTEGER PRIMARY KEY, cell TEXT NOT NULL UNIQUE, skipped TEXT
) STRICT;
CREATE TABLE plan_seeds (position INTEGER PRIMARY KEY, seed INTEGER NOT NULL UNIQUE) STRICT;
CREATE TABLE plan_measures (position INTEGER PRIMARY KEY, measure TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE plan_identities (
    cell TEXT, measure TEXT, identity TEXT NOT NULL, PRIMARY KEY (cell, measure)
) STRICT, WITHOUT ROWID;
CREATE TABLE trials (
    cell TEXT, seed INTEGER, measure TEXT, identity TEXT NOT NULL, state TEXT NOT NULL,
    message TEXT NOT NULL, traceback TEXT NOT NULL, marks TEXT NOT NULL, seconds ANY NOT NULL,
    PRIMARY KEY (cell, seed, measure)
) STRICT, WITHOUT ROWID;
CREATE TABLE metrics (
    cell TEXT, seed INTEGER, measure TEXT, metric TEXT, value ANY NOT NULL,
    PRIMARY KEY (cell, seed, measure, metric)
) STRICT, WITHOUT ROWID;
CREATE TABLE profiles (
    cell TEXT, seed INTEGER, measure TEXT, profile TEXT, axis TEXT NOT NULL,
    position INTEGER, step INTEGER, value ANY NOT NULL,
    PRIMARY KEY (cell, seed, measure, profile, step, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE arrays (
    cell TEXT, seed INTEGER, measure TEXT, name TEXT, shape TEXT NOT NULL, dtype TEXT NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (cell, seed, measure, name)
) STRICT;
"""

# Added later: a file of the same layout may lack it until it is next written to.
WARNINGS = """
CREATE TABLE IF NOT EXISTS warnings (
    cell TEXT, seed INTEGER, measure TEXT, text TEXT, PRIMARY KEY (cell, seed, measure, text)
) STRICT, WITHOUT ROWID;
"""


def open_writable(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, made if it is not there, for the one process that writes to it."""
    with explained(path):
        connection = _connect(path, "mode=rwc")
        try:
            if _is_empty(connection):
                _create(connection)
            _check(connection, path)
            connection.execute(WARNINGS)
            # Readers never wait for the writer; each commit is on the disk when it returns.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
    return connection


def open_readonly(path: Path, *, whole: bool = True) -> sqlite3.Connection:
    """Open the file at `path` for reading, while it is written to or after.

    `whole` says whether to look through all of it for damage, which takes as long as reading it.
    """
    if not path.is_file():
        raise StoreError(f"{path.parent} holds no run: there is no {path.name}")
    with explained(path):
        connection = _connect(path, "mode=ro")
        try:
            try:
                _check(connection, path, whole)
            except sqlite3.OperationalError:
                # A run that ended unclean leaves a file whose journal SQLite would have to make
                # anew, which it cannot in a directory that is not writable. If there is nothing
                # in the journal, the file is complete.
                if _wal(path).exists():
                    raise
                connection.close()
                connection = _connect(path, "immutable=1")
                _check(connection, path, whole)
        except BaseException:
            connection.close()
            raise
    return connection


def close_writable(connection: sqlite3.Connection) -> None:
    """Close, and leave one plain file.

    While somebody reads it, or on a full disk, the journal cannot be folded in; it stays valid
    beside the file, and the next run folds it in.
    """
    connection.execute("PRAGMA busy_timeout = 1000")
    try:
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        connection.close()


def _connect(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?{how}", uri=True, isolation_level=None, timeout=BUSY_SECONDS
    )


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _is_empty(connection: sqlite3.Connection) -> bool:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return int(count) == 0


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(
        f"BEGIN IMMEDIATE;{TABLES}"
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
    )


def _check(connection: sqlite3.Connection, path: Path, whole: bool = True) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise NotAStore(f"{path} is a database of another program: choose another directory")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise NotAStore(
            f"{path} has layout {version}, and this version of ablations reads layout {VERSION}: "
            "install the version that wrote it"
        )
    if not whole:
        return
    (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if finding != "ok":
        raise damaged(path, finding)
