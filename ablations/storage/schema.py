"""The tables of DIR/results.sqlite, and how the file is opened."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ablations.storage.digests import broken, seal_all
from ablations.storage.errors import NoRun, NotAStore, StoreError, damaged, explained
from ablations.storage.file_systems import network_type

FILE, GRID = "results.sqlite", "grid.yaml"
JOURNALS = ("-wal", "-shm", "-journal")
"""What SQLite may keep beside a database, by the end of its name."""

APPLICATION = 0x61626C61  # "abla", where SQLite lets a file say whose it is
VERSION = 2
BUSY_SECONDS = 30.0
SMALLEST_PAGE = 512

UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it would have to make a file and may not."""

log = logging.getLogger(__name__)

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

WARNINGS = """
CREATE TABLE warnings (
    cell TEXT, seed INTEGER, measure TEXT, text TEXT, PRIMARY KEY (cell, seed, measure, text)
) STRICT, WITHOUT ROWID;
"""
DIGESTS = """
CREATE TABLE digests (
    cell TEXT, seed INTEGER, measure TEXT, digest TEXT NOT NULL,
    PRIMARY KEY (cell, seed, measure)
) STRICT, WITHOUT ROWID;
"""

LAYOUTS = {1: TABLES, 2: TABLES + WARNINGS + DIGESTS}
"""The tables of each layout that is read; a run brings an older one up to date."""


def open_writable(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, made if it is not there, for the one process that writes to it."""
    with explained(path):
        _refuse_emptied(path)
        connection = _connect(path, "mode=rwc")
        try:
            with _making_sense(path):
                empty = _is_empty(connection)
            if empty:
                _create(connection)
            if _check(connection, path) < VERSION:
                _bring_up_to_date(connection)
            _journal(connection, path)
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
        raise NoRun(f"{path.parent} holds no run: there is no {path.name}")
    with explained(path):
        _refuse_emptied(path)
        connection = _connect(path, "mode=ro")
        try:
            try:
                _check(connection, path, whole)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in UNWRITABLE:
                    raise
                # A run that ended unclean leaves a file whose journal SQLite would have to make
                # anew, which it cannot in a directory that is not writable. If there is nothing
                # in the journal, the file is complete.
                if _left(path):
                    raise StoreError(
                        f"{path}: a run that was killed left its journal beside it, which cannot "
                        "be read in a directory that is not writable: copy the whole directory to "
                        "where you may write, and read it there"
                    ) from None
                connection.close()
                connection = _connect(path, "immutable=1")
                _check(connection, path, whole)
        except BaseException:
            connection.close()
            raise
    return connection


def nothing_run(path: Path) -> NoRun:
    """The error for a file, made at the start of a run, in which no grid was begun."""
    return NoRun(f"{path.parent}: nothing has been run in this directory yet")


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


def _journal(connection: sqlite3.Connection, path: Path) -> None:
    """Choose how a commit reaches the disk; each is there when it returns.

    With a write-ahead log readers never wait for the writer. It is shared through memory, so that
    readers on another machine would not see it, and might spoil it.
    """
    network = network_type(path)
    if network:
        log.warning(
            "%s is on a network file system (%s): results are kept there more slowly, and "
            "reading them makes the run wait",
            path.parent,
            network,
        )
    asked = "delete" if network else "wal"
    (mode,) = connection.execute(f"PRAGMA journal_mode = {asked}").fetchone()
    if mode != asked:
        raise StoreError(
            f"{path}: its file system does not let a run write there (journal mode {mode}, not "
            f"{asked}): choose another directory"
        )


def _left(path: Path) -> bool:
    """Whether a journal beside the file holds anything."""
    wal = path.with_name(f"{path.name}-wal")
    return wal.exists() and wal.stat().st_size > 0


def _refuse_emptied(path: Path) -> None:
    """Raises: DamagedStore for next to no file beside a grid, which is written after a run began.

    SQLite would take it for one that is yet to be filled.
    """
    if path.exists() and path.stat().st_size < SMALLEST_PAGE and path.with_name(GRID).exists():
        raise damaged(path, "it was cut off")


def _is_empty(connection: sqlite3.Connection) -> bool:
    (count,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return int(count) == 0


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(
        f"BEGIN IMMEDIATE;{LAYOUTS[VERSION]}"
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
    )


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """From layout 1, which had neither warnings nor digests."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(WARNINGS)
        connection.execute(DIGESTS)
        seal_all(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check(connection: sqlite3.Connection, path: Path, whole: bool = True) -> int:
    """Whose the file is, and whether it is as it was left; returns its layout."""
    with _making_sense(path):
        return _checked(connection, path, whole)


@contextlib.contextmanager
def _making_sense(path: Path) -> Iterator[None]:
    """What makes no sense to SQLite, as a table of no known form, is damage in what is ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        # Text that is no text any more has no code at all.
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) != sqlite3.SQLITE_ERROR:
            raise
        raise damaged(path, str(error)) from error
    except UnicodeDecodeError as error:  # SQLite quotes in a message what it cannot read
        raise damaged(path, "text in it is no text any more") from error


def _checked(connection: sqlite3.Connection, path: Path, whole: bool) -> int:
    if _is_empty(connection):
        raise nothing_run(path)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise NotAStore(f"{path} is a database of another program: choose another directory")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in LAYOUTS:
        raise NotAStore(
            f"{path} has layout {version}, and this version of ablations reads layouts 1 to "
            f"{VERSION}: install the version that wrote it"
        )
    if whole:
        finding = _damage(connection, version)
        if finding:
            raise damaged(path, finding)
    return int(version)


def _damage(connection: sqlite3.Connection, version: int) -> str:
    """What is not as it was left, in words; empty if all is."""
    if _tables(connection) != _tables_of(version):
        return "its tables are not those of its layout"
    (finding,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if finding != "ok":
        return str(finding)
    return broken(connection) if version >= 2 else ""


def _tables(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
    ).fetchall()


def _tables_of(version: int) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(LAYOUTS[version])
        return _tables(connection)
