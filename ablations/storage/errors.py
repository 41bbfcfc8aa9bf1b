"""What can go wrong with a run directory; every message is one line."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path


class StoreError(Exception):
    """Root of the run directory's errors: the environment is at fault, not the grid."""


class RunLocked(StoreError):
    """Another process carries out a run in this directory."""


class NotAStore(StoreError):
    """The file is not one of this project's, or it is one of a newer version."""


class DamagedStore(StoreError):
    """The file is this project's, and parts of it cannot be read."""


_CAUSES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run again",
    sqlite3.SQLITE_READONLY: "it cannot be written to; check its permissions and run again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the permissions of its directory",
    sqlite3.SQLITE_PERM: "it cannot be written to; check its permissions and run again",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_BUSY: "another program keeps it locked; close it and run again",
}


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says about the file at `path` into a `StoreError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The low byte is the class of an error, the rest tells where it was met.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            raise NotAStore(f"{path} is not an SQLite database") from error
        if code == sqlite3.SQLITE_CORRUPT:
            raise damaged(path, str(error)) from error
        if code in _CAUSES:
            raise StoreError(f"{path}: {_CAUSES[code]}; what has been recorded is kept") from error
        raise


def damaged(path: Path, finding: str) -> DamagedStore:
    """The error for a file of which SQLite reports a `finding`."""
    first = finding.partition("\n")[0]
    return DamagedStore(
        f"{path} is damaged ({first}); move it aside and run again, or restore a copy of it"
    )
