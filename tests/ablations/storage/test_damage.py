"""Files that were cut off or changed: never a wrong figure, and nothing in them is touched."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ablations.library import write_report
from ablations.results import ArrayValues, ProfileValues
from ablations.storage import schema
from ablations.storage.schema import DIGESTS
from ablations.store import DamagedStore, NoRun, NotAStore, Store, StoreError
from tests.ablations.followers import run
from tests.ablations.storage.mounted import ROOT
from tests.ablations.stores import PLAN, result


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """The file of a run that ended clean, with results of every kind."""
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
        for name in "ab":
            for seed in PLAN.seeds:
                store.record(
                    result(
                        name,
                        seed,
                        message="größer",
                        metrics={"flow.ratio": seed / 3},
                        profiles={"flow.block": ProfileValues.along("depth", [0.1, seed / 7])},
                        arrays={"flow.map": ArrayValues(shape=(2,), dtype="<f4", data=b"12345678")},
                    )
                )
    return store.path


def everything(path: Path, way: Any = Store.open_readonly) -> Any:
    """All that a report is made from, or the name of the error for what cannot be read."""
    try:
        with way(path.parent) as store:
            frames = store.frames()
            tables = ("cells", "trials", "metrics", "profiles", "metric_info", "factors")
            return [
                frames.name,
                frames.grid,
                *(getattr(frames, name).to_csv() for name in tables),
                frames.settings.to_csv(),
                frames.environment.to_csv(),
                [(key, array.tobytes()) for key, array in frames.arrays.items()],
            ]
    except StoreError as error:
        return type(error) if "\n" not in str(error) else str(error)


def changed(content: bytes, n: int) -> Iterator[bytes]:
    """The content with one bit flipped or one byte overwritten, at random places."""
    dice = random.Random(0)
    places = list(range(100)) + [dice.randrange(len(content)) for _ in range(n - 100)]
    for place in places:  # all of the header, and what follows
        byte = content[place] ^ 1 << dice.randrange(8) if dice.random() < 0.5 else dice.choice(FILL)
        yield content[:place] + bytes([byte]) + content[place + 1 :]


FILL = b"\0\xff1a"


@pytest.mark.parametrize("n", [250, pytest.param(6000, marks=pytest.mark.long)])
def test_a_changed_byte_is_told_or_changes_nothing(whole: Path, n: int) -> None:
    content = whole.read_bytes()
    reference = everything(whole)
    told = 0
    for other in changed(content, n):
        whole.write_bytes(other)
        found = everything(whole)
        assert found == reference or found in (DamagedStore, NotAStore, StoreError)
        told += found != reference
    assert told > n / 20  # most of a small file is room for more
    whole.write_bytes(content)
    assert everything(whole) == reference


def test_a_changed_header_is_told_or_changes_nothing_for_a_run_that_goes_on(whole: Path) -> None:
    content = whole.read_bytes()
    reference = everything(whole)
    for other in changed(content, 100):
        whole.write_bytes(other)
        found = everything(whole, Store.create_or_open)
        assert found == reference or found in (DamagedStore, NotAStore, StoreError)


def test_a_changed_value_is_told_by_the_result_it_belongs_to(whole: Path) -> None:
    cell, seed = "a", 7
    with contextlib.closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("UPDATE metrics SET value = 2.0 WHERE cell = ? AND seed = ?", ("a", 7))
    for way in (Store.open_readonly, Store.create_or_open):
        with pytest.raises(DamagedStore) as told:
            way(whole.parent)
        assert str(told.value) == (
            f"{whole} is damaged (flow of cell {cell}, seed {seed}, is not as it was recorded); "
            "move it aside and run again, or restore a copy of it"
        )


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM trials WHERE cell = 'a' AND seed = 7",
        "DELETE FROM profiles WHERE position = 1",
        "UPDATE metrics SET seed = 8 WHERE cell = 'a' AND seed = 7",
        "UPDATE arrays SET data = x'00' WHERE cell = 'b'",
        "UPDATE meta SET value = 'other' WHERE key = 'name'",
        "DELETE FROM meta WHERE key = 'digest'",
        "UPDATE meta SET value = '{ }' WHERE key = 'conformities'",
        "UPDATE meta SET value = '{ }' WHERE key = 'views'",
        "DELETE FROM meta WHERE key = 'conformity_digest'",
        "UPDATE cells SET label = 'other' WHERE cell = 'a'",
        "DELETE FROM plan_seeds WHERE seed = 3",
        "UPDATE plan_identities SET identity = 'x'",
        "DELETE FROM digests WHERE cell = 'b'",
        "CREATE TABLE more (x)",
    ],
)
def test_an_edit_is_told(whole: Path, edit: str) -> None:
    with contextlib.closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute(edit)
    assert everything(whole) is DamagedStore
    assert everything(whole, Store.create_or_open) is DamagedStore


def test_a_file_cut_off_anywhere_is_told_and_left_as_it_is(whole: Path) -> None:
    content = whole.read_bytes()
    lengths = {*range(0, len(content), 1024), 1, 15, 16, 99, 100, 101, len(content) - 1}
    for length in sorted(lengths):
        whole.write_bytes(content[:length])
        for way in (Store.open_readonly, Store.create_or_open):
            assert everything(whole, way) in (DamagedStore, NotAStore), length
        assert whole.read_bytes() == content[:length]


def test_an_empty_file_without_a_grid_is_a_run_that_never_began(tmp_path: Path) -> None:
    (tmp_path / "results.sqlite").touch()
    with pytest.raises(NoRun) as raised:
        Store.open_readonly(tmp_path)
    assert str(raised.value) == f"{tmp_path}: nothing has been run in this directory yet"
    with Store.create_or_open(tmp_path) as store:
        store.begin(PLAN)


KILLED = """\
import os, signal, sys
from ablations.store import Store
from tests.ablations.stores import PLAN, result
store = Store.create_or_open(sys.argv[1])
store.begin(PLAN)
for seed in range(20):
    store.record(result(seed=seed, metrics={"flow.ratio": 1.0}))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_journal_that_was_cut_off_or_changed_keeps_whole_trials(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    journal = tmp_path / "results.sqlite-wal"
    content, file = journal.read_bytes(), (tmp_path / "results.sqlite").read_bytes()
    dice = random.Random(0)
    counts = set()
    for _ in range(60):
        (tmp_path / "results.sqlite").write_bytes(file)
        (tmp_path / "results.sqlite-shm").unlink(missing_ok=True)
        place = dice.randrange(len(content))
        flipped = bytes([content[place] ^ 1 << dice.randrange(8)])
        cut = dice.random() < 0.5
        journal.write_bytes(content[:place] + (b"" if cut else flipped + content[place + 1 :]))
        with Store.create_or_open(tmp_path) as store:
            seeds = sorted(seed for _, seed, _ in store.known())
        assert seeds == list(range(len(seeds)))
        counts.add(len(seeds))
    assert {0, 19} <= counts <= set(range(20))
    assert len(counts) > 10


def test_an_older_layout_is_read_and_brought_up_to_date(whole: Path) -> None:
    reference = everything(whole)
    with contextlib.closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("DROP TABLE digests")
        connection.execute("DROP TABLE warnings")
        connection.execute("DELETE FROM meta WHERE key IN ('digest', 'key')")
        connection.execute("PRAGMA user_version = 1")
    assert everything(whole) == reference
    with Store.create_or_open(whole.parent) as store:
        assert len(store.known()) == 4
        store.begin(PLAN)
        assert len(store.key) == 32
    assert everything(whole) == reference
    with contextlib.closing(sqlite3.connect(whole)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM digests").fetchone() == (4,)
        (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'digests'")
    assert sql[0] in DIGESTS


def test_a_run_looks_through_its_file_as_it_begins_and_a_report_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looked: list[Path] = []
    look = schema._check

    def counted(connection: sqlite3.Connection, path: Path, whole: bool = True) -> int:
        looked.extend([path] * whole)
        return look(connection, path, whole)

    monkeypatch.setattr(schema, "_check", counted)
    monkeypatch.setattr("reports.write", lambda frames, out: out / "report.html")
    run(tmp_path)
    assert looked == [tmp_path / "results.sqlite"]
    assert write_report(tmp_path) == tmp_path / "report.html"
    assert looked == [tmp_path / "results.sqlite"] * 2


def test_damage_after_a_run_is_told_by_the_next_report(tmp_path: Path) -> None:
    run(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        connection.execute("UPDATE metrics SET value = value + 1 WHERE seed = 1")
        connection.commit()
    with pytest.raises(DamagedStore, match=r"gradient_flow of cell .*, seed 1, is not as it was"):
        write_report(tmp_path)
