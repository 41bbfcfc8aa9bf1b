"""Kills, readers, locks, foreign and damaged files, full disks: nothing recorded is lost."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ablations.store import (
    DamagedStore,
    NoRun,
    NotAStore,
    RunLocked,
    Store,
    StoreError,
)
from tests.ablations.stores import PLAN, result

ROOT = Path(__file__).parents[3]

KILLED = """\
import os, signal, sys
from ablations.store import Store
from tests.ablations.stores import PLAN, result
store = Store.create_or_open(sys.argv[1])
store.begin(PLAN)
store.record(result())
if sys.argv[2] == "checkpointed":
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("DELETE FROM trials")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(directory: Path, how: str = "") -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(directory), how], cwd=ROOT, check=False)


def test_a_kill_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    killed(tmp_path)
    with Store.open_readonly(tmp_path) as reader:
        assert len(reader.known()) == 1
    with Store.create_or_open(tmp_path) as store:  # its lock died with it
        assert len(store.known()) == 1


READ = """\
import os, sys
from ablations.store import Store
if os.getuid() == 0:
    os.setuid(65534)  # permissions mean nothing to root
with Store.open_readonly(sys.argv[1]) as store:
    print(len(store.known()))
"""


@pytest.mark.parametrize("end", ["clean", "killed", "checkpointed"])
def test_a_directory_that_is_not_writable_is_read(end: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "run"
        if end == "clean":
            with Store.create_or_open(directory) as store:
                store.begin(PLAN)
                store.record(result())
        else:
            killed(directory, end)
        if end == "checkpointed":  # as if the file alone had been copied
            for suffix in ("-wal", "-shm"):
                Path(f"{directory / 'results.sqlite'}{suffix}").unlink()
        Path(name).chmod(0o755)
        directory.chmod(0o555)
        ended = subprocess.run(
            [sys.executable, "-c", READ, str(directory)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        directory.chmod(0o755)
        assert (ended.stdout, ended.stderr) == ("1\n", "")


def test_two_runs_of_a_directory_are_refused(store: Store) -> None:
    with pytest.raises(RunLocked) as refused:
        Store.create_or_open(store.directory)
    assert str(refused.value) == (
        f"process {os.getpid()} carries out a run in {store.directory}: wait for it, or choose "
        "another directory"
    )
    store.close()
    Store.create_or_open(store.directory).close()


def refused(directory: Path, kind: type[StoreError], message: str) -> None:
    """Both ways of opening are refused with that message; the lock is not kept."""
    for way in (Store.create_or_open, Store.open_readonly, Store.create_or_open):
        with pytest.raises(StoreError) as error:
            way(directory)
        assert (type(error.value), str(error.value)) == (kind, message)


def test_what_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    path.write_bytes(b"metric,value\n" * 200)
    refused(tmp_path, NotAStore, f"{path} is not an SQLite database")
    assert path.read_bytes() == b"metric,value\n" * 200


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    refused(
        tmp_path, NotAStore, f"{path} is a database of another program: choose another directory"
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("layout", [0, 3])
def test_an_unknown_layout_is_refused(store: Store, layout: int) -> None:
    store._connection.execute(f"PRAGMA user_version = {layout}")
    store.close()
    refused(
        store.directory,
        NotAStore,
        f"{store.path} has layout {layout}, and this version of ablations reads layouts 1 to 2: "
        "install the version that wrote it",
    )


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_a_damaged_file_is_refused(store: Store, damage: str) -> None:
    for seed in range(200):
        store.record(result(seed=seed, message="x" * 500))
    store.close()
    content = store.path.read_bytes()
    half = len(content) // 2
    content = content[:half] if damage == "truncated" else content[:half] + b"\xff" * half
    store.path.write_bytes(content)
    for way in (Store.create_or_open, Store.open_readonly):
        with pytest.raises(DamagedStore) as error:
            way(store.directory)
        text = str(error.value)
        assert text.startswith(f"{store.path} is damaged (")
        assert text.endswith("); move it aside and run again, or restore a copy of it")
        assert "\n" not in text
    assert store.path.read_bytes() == content


def test_a_full_disk_keeps_what_is_recorded(store: Store) -> None:
    store.record(result())
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError) as error:
        store.record(result("b", traceback="x" * 100_000))
    assert str(error.value) == (
        f"{store.path}: the disk is full; free some space and run again; "
        "what has been recorded is kept"
    )
    assert store.known() == {("a", 7, "flow"): ("id-a", "done")}


def test_a_directory_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoRun) as error:
        Store.open_readonly(tmp_path)
    assert str(error.value) == f"{tmp_path} holds no run: there is no results.sqlite"
    with Store.create_or_open(tmp_path) as store, pytest.raises(NoRun) as error:
        store.frames()
    assert str(error.value) == f"{tmp_path}: nothing has been run in this directory yet"


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as error:
        Store.create_or_open(tmp_path / "file" / "run")
    assert str(error.value) == f"{tmp_path / 'file' / 'run'} cannot be made: Not a directory"


def test_a_directory_name_with_every_awkward_character(tmp_path: Path) -> None:
    directory = tmp_path / "a b?mode=ro#%41é"
    with Store.create_or_open(directory) as store:
        store.begin(PLAN)
    assert (directory / "results.sqlite").is_file()
    with Store.open_readonly(directory) as reader:
        assert len(reader.frames().cells) == 3


def test_opening_imports_neither_pandas_nor_torch() -> None:
    code = "import ablations.store, ablations.results, sys, json; print(json.dumps([*sys.modules]))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = set(json.loads(ended.stdout))
    assert "sqlite3" in modules
    assert not {"pandas", "torch", "numpy"} & modules
