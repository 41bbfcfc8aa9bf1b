"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ablations.whole_files import write_whole


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"old" * 1000, b"new"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert [other.name for other in tmp_path.iterdir()] == ["file"]


def test_both_the_file_and_its_name_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    write_whole(tmp_path / "file", b"new")
    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    write_whole(tmp_path / "file", b"old")
    monkeypatch.setattr(*((os, step) if step == "fsync" else (Path, step)), fail)
    with pytest.raises(OSError, match="No space left") as raised:
        write_whole(tmp_path / "file", b"new")
    told = f"[Errno 28] No space left on device: '{tmp_path / 'file'}'"
    assert str(raised.value) == told
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}
