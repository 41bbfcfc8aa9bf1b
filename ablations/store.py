"""The run directory: what was asked for and every result, in one SQLite file.

DIR/results.sqlite is the truth, and a kill at any moment leaves it whole: each trial is one
transaction, on the disk when `record` returns. One process writes, under a lock; any number read
meanwhile. After a clean end it is a plain file that opens read-only.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ablations import blocks, conformity
from ablations.results import ArrayValues, TrialResult
from ablations.storage.blocks import VIEWS, read_views
from ablations.storage.conformity import CONFORMITIES, EXAMINED, read_conformities
from ablations.storage.digests import RESULTS, seal_found, seal_plan, seal_result
from ablations.storage.errors import (
    DamagedStore,
    NoRun,
    NotAStore,
    RunLocked,
    StoreError,
    explained,
)
from ablations.storage.frames import DOCUMENTS, read_frames
from ablations.storage.lock import RunLock
from ablations.storage.origins import Origins, read_origins
from ablations.storage.overview import Overview, read_overview
from ablations.storage.plan import PlannedCellRow, RunPlan
from ablations.storage.rows import document, insert, read_document, result_rows
from ablations.storage.schema import FILE, GRID, close_writable, open_readonly, open_writable
from ablations.storage.trials import read_trials
from ablations.whole_files import write_whole
from registry.events import TrialInfo

if TYPE_CHECKING:
    from reports.frames import Frames

__all__ = [
    "DamagedStore",
    "NoRun",
    "NotAStore",
    "PlannedCellRow",
    "RunLocked",
    "RunPlan",
    "Store",
    "StoreError",
]

TOGETHER = 1_000
"""Cells that are written together: all of a large grid would not fit into memory."""

PLAN_TABLES = ("meta", "plan", "plan_seeds", "plan_measures", "plan_identities")


class Store:
    """A run directory, open; made by `create_or_open` or `open_readonly`, closed by `with`.

    Every method raises StoreError, in one line, when the file cannot be read or written; what
    had been recorded is kept.
    """

    def __init__(
        self, directory: Path, connection: sqlite3.Connection, lock: RunLock | None
    ) -> None:
        self.directory = directory
        self.path = directory / FILE
        self._connection = connection
        self._lock = lock
        self._open = True

    @classmethod
    def create_or_open(cls, directory: str | os.PathLike[str]) -> Store:
        """Open a directory to run in, made if it is not there.

        Raises: RunLocked if another process runs in it; NotAStore for a file of another program
        or of a newer version; DamagedStore; StoreError for a directory that cannot be written to.
        """
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory} cannot be made: {error.strerror}") from error
        lock = RunLock(directory)
        try:
            return cls(directory, open_writable(directory / FILE), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open_readonly(cls, directory: str | os.PathLike[str], *, whole: bool = True) -> Store:
        """Open a directory to read its results, also while a run goes on in it.

        `whole` says whether to look through all of it for damage, which only a process that has
        just done so, and written the rest itself, or one that reads no figure need not do.

        Raises: NoRun; NotAStore; DamagedStore.
        """
        directory = Path(directory)
        return cls(directory, open_readonly(directory / FILE, whole=whole), None)

    def begin(self, plan: RunPlan) -> None:
        """Make `plan` the grid of this directory; results of earlier ones are kept.

        DIR/grid.yaml is written once the plan is recorded.
        """
        with self._transaction() as connection:
            held = dict(connection.execute("SELECT key, value FROM meta"))
            found = {key: held.get(key, "{}") for key in (CONFORMITIES, VIEWS)}
            for table in PLAN_TABLES:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608
            meta = {"id": held.get("id", uuid.uuid4().hex)}
            meta |= {"key": held.get("key", secrets.token_hex(32))}
            meta |= {"name": plan.name, "grid": plan.grid, EXAMINED: document(plan.examined)}
            meta |= found
            meta |= {
                name: document([dict(row) for row in getattr(plan, name)]) for name in DOCUMENTS
            }
            insert(connection, "meta", meta.items())
            rows = enumerate(plan.cells)
            while some := list(islice(rows, TOGETHER)):
                _insert_cells(connection, some)
            insert(connection, "plan_seeds", enumerate(plan.seeds))
            insert(connection, "plan_measures", enumerate(plan.measures))
            insert(
                connection,
                "plan_identities",
                ((cell, measure, value) for (cell, measure), value in plan.identities.items()),
            )
            seal_plan(connection)
            seal_found(connection)
        path = self.directory / GRID
        try:
            write_whole(path, plan.grid.encode())
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error

    @property
    def id(self) -> str:
        """What tells this run directory from all others, also once it has been moved.

        It is drawn when the first grid is begun in it, and stays.
        """
        return self._meta("id")

    @property
    def key(self) -> bytes:
        """The key under which the checkpoints in this directory are authenticated, kept as `id`."""
        return bytes.fromhex(self._meta("key"))

    def known(self) -> dict[tuple[str, int, str], tuple[str, str]]:
        """The identity and state of every result, of whatever grid, by cell, seed and measure."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT cell, seed, measure, identity, state FROM trials"
            ).fetchall()
        return {
            (cell, seed, measure): (identity, state)
            for cell, seed, measure, identity, state in rows
        }

    def label(self, cell: str) -> str:
        """The label of a cell that is in the plan."""
        with explained(self.path):
            (found,) = self._connection.execute(
                "SELECT label FROM cells WHERE cell = ?", (cell,)
            ).fetchone()
        return str(found)

    def record(self, result: TrialResult) -> None:
        """Keep a trial's results, in place of earlier ones of the same measures."""
        with self._transaction() as connection:
            for measure in result.measures:
                key = (result.cell, result.seed, measure.measure)
                for table in RESULTS:
                    connection.execute(
                        f"DELETE FROM {table} WHERE cell = ? AND seed = ? AND measure = ?",  # noqa: S608
                        key,
                    )
                for table, rows in result_rows(measure).items():
                    insert(connection, table, ((*key, *row) for row in rows))
                seal_result(connection, key)

    def conformities(self) -> dict[str, conformity.Conformity]:
        """What is known of components, of whatever grid, by the keys of their examinations."""
        with explained(self.path):
            return read_conformities(self._connection)

    def keep_conformities(self, found: Mapping[str, conformity.Conformity]) -> None:
        """Keep what was found of components."""
        self._keep(CONFORMITIES, {key: conformity.as_document(of) for key, of in found.items()})

    def views(self) -> dict[str, blocks.View]:
        """What was seen of blocks, of whatever grid, by the keys of their viewings."""
        with explained(self.path):
            return read_views(self._connection)

    def keep_views(self, found: Mapping[str, blocks.View]) -> None:
        """Keep what was seen of blocks."""
        self._keep(VIEWS, {key: blocks.as_document(seen) for key, seen in found.items()})

    def trials(self, only: tuple[str, int] | None = None) -> list[TrialInfo]:
        """The trials of the grid last run that have results, in its order; `only` one of them."""
        with explained(self.path):
            return read_trials(self._connection, only)

    def arrays(self, cell: str, seed: int, measure: str) -> dict[str, ArrayValues]:
        """The arrays that a measure of a trial left, by their full names."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT name, shape, dtype, data FROM arrays "
                "WHERE cell = ? AND seed = ? AND measure = ? ORDER BY name",
                (cell, seed, measure),
            ).fetchall()
        return {
            name: ArrayValues(shape=tuple(json.loads(shape)), dtype=dtype, data=data)
            for name, shape, dtype, data in rows
        }

    def frames(self) -> Frames:
        """What belongs to the grid last run, as tidy frames; its arrays are read as asked for.

        A result that is not there, or that has another identity than the plan's, is `missing`.
        Texts of metrics and profiles, which are few and stand in many rows, are categories.

        Raises: NoRun.
        """
        with explained(self.path):
            return read_frames(self._connection, self.path)

    def overview(self) -> Overview:
        """What belongs to the grid last run and how far it got, without its figures.

        Raises: NoRun.
        """
        with explained(self.path):
            return read_overview(self._connection, self.path)

    def origins(self) -> Origins:
        """What the results of the grid last run come from, as digests."""
        with explained(self.path):
            return read_origins(self._connection)

    def close(self) -> None:
        """Close the file, and leave a plain one if it was written to; once is enough."""
        if not self._open:
            return
        self._open = False
        try:
            with explained(self.path):
                if self._lock:
                    close_writable(self._connection)
                else:
                    self._connection.close()
        finally:
            if self._lock:
                self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _meta(self, key: str) -> str:
        with explained(self.path):
            (value,) = self._connection.execute(
                "SELECT value FROM meta WHERE key = ?", (key,)
            ).fetchone()
        return str(value)

    def _keep(self, key: str, found: Mapping[str, Any]) -> None:
        """Add to the document that `meta` holds under a key."""
        with self._transaction() as connection:
            known = read_document(connection, key) | dict(found)
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (document(known), key))
            seal_found(connection)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is written within the block, or nothing."""
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk ends it by itself
                    self._connection.execute("ROLLBACK")
                raise


def _insert_cells(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, PlannedCellRow]]
) -> None:
    """Add cells of the plan, by their places in it."""
    # The content of a cell never changes, but its label may.
    connection.executemany("DELETE FROM cells WHERE cell = ?", [(c.cell,) for _, c in rows])
    insert(
        connection,
        "cells",
        [(c.cell, c.label, document(c.levels), document(c.content)) for _, c in rows],
    )
    insert(connection, "plan", [(place, c.cell, c.skipped) for place, c in rows])
