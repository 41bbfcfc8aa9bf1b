"""Network file systems: recognized, and no write-ahead log on them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ablations.storage import file_systems
from ablations.storage.file_systems import network_type
from ablations.store import Store, StoreError
from tests.ablations.stores import PLAN, result

TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:50 / {base}/share rw - nfs4 server:/share rw
41 40 8:2 / {base}/share/local rw - ext4 /dev/sdb1 rw
42 22 0:51 / {base}/with\\040space rw - fuse.sshfs host: rw
43 22 0:52 / {base}/covered rw - cifs //host/share rw
44 43 8:3 / {base}/covered rw - xfs /dev/sdc1 rw
"""


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE.format(base=tmp_path))
    monkeypatch.setattr(file_systems, "MOUNTS", table)
    return tmp_path


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("share", "nfs4"),
        ("share/runs/new", "nfs4"),
        ("shared", None),
        ("share/local/run", None),
        ("with space/run", "fuse.sshfs"),
        ("covered/run", None),
        ("elsewhere", None),
    ],
)
def test_the_innermost_and_last_mount_decides(mounts: Path, place: str, kind: str | None) -> None:
    assert network_type(mounts / place) == kind


def test_where_nothing_tells_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "none")
    assert network_type(tmp_path) is None


def test_results_are_kept_and_read_there_and_it_is_said_once(
    mounts: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = mounts / "share" / "run"
    with caplog.at_level(logging.WARNING), Store.create_or_open(directory) as store:
        store.begin(PLAN)
        store.record(result())
        assert not (directory / "results.sqlite-wal").exists()
        with Store.open_readonly(directory) as reader:
            assert len(reader.known()) == 1
    assert caplog.messages == [
        f"{directory} is on a network file system (nfs4): results are kept there more slowly, "
        "and reading them makes the run wait"
    ]
    assert not (directory / "results.sqlite-journal").exists()


def test_a_journal_that_is_not_the_one_asked_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ablations.storage import schema

    class Stubborn(schema.sqlite3.Connection):
        def execute(self, sql, *rest):  # type: ignore[no-untyped-def]
            if sql.startswith("PRAGMA journal_mode"):
                sql = "SELECT 'memory'"
            return super().execute(sql, *rest)

    real = schema.sqlite3.connect
    monkeypatch.setattr(schema.sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Stubborn))
    with pytest.raises(StoreError) as refused:
        Store.create_or_open(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path / 'results.sqlite'}: its file system does not let a run write there (journal "
        "mode memory, not wal): choose another directory"
    )
