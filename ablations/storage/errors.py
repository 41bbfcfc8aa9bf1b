"""What can go wrong with a run directory; every message is one line."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path


class StoreError(Exception):
    """Root of the run directory's errors: the environment is at fault, not the grid."""


class NoRun(StoreError):
    """The directory that was asked for holds no run: the request is at fault."""


class RunLocked(StoreError):
    """Another process carries out a run in this directory."""


class NotAStore(StoreError):
    """The file is not one of this project's, or it is one of a newer version."""


class DamagedStore(StoreError):
    """The file is this project's, and parts of it cannot be read."""


NEEDED = 2**16
"""Bytes that SQLite may need for its own files, whatever is written."""

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
        if code == sqlite3.SQLITE_IOERR and _is_full(path):
            code = sqlite3.SQLITE_FULL
        if code in _CAUSES:
            raise StoreError(f"{path}: {_CAUSES[code]}; what has been recorded is kept") from error
        raise


def _is_full(path: Path) -> bool:
    """Whether there is no room for what SQLite makes beside a file, of which it says less."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < NEEDED


def damaged(path: Path, finding: str) -> DamagedStore:
    """The error for a file of which SQLite reports a `finding`."""
    first = finding.partition("\n")[0]
    return DamagedStore(
        f"{path} is damaged ({first}); move it aside and run again, or restore a copy of it"
    )
