"""Files that are whole or not there, and what is said where one cannot be written."""

import os
import tempfile
from pathlib import Path

import pytest

from reports.files import CannotWrite, write_bytes, write_text


def refused(path: Path) -> str:
    with pytest.raises(CannotWrite) as raised:
        write_text(path, "new")
    return str(raised.value)


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    for content in (b"old" * 1000, b"new"):
        write_bytes(path, content)
        assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_takes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(dir: Path, prefix: str) -> None:
        raise PermissionError(13, "Permission denied", str(dir / f"{prefix}q8b"))

    monkeypatch.setattr(tempfile, "mkstemp", denied)
    path = tmp_path / "report.html"
    assert refused(path) == f"{path} cannot be written: Permission denied"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    write_text(path, "old")
    monkeypatch.setattr(os, step, fail)
    assert refused(path) == f"{path} cannot be written: No space left on device"
    assert {other.name: other.read_text() for other in tmp_path.iterdir()} == {"file": "old"}


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path} cannot be written: Is a directory"
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_its_folder_would_be(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    path = tmp_path / "runs" / "report.html"
    assert refused(path) == (
        f"{path} cannot be written: its folder {tmp_path / 'runs'} cannot be made: File exists"
    )
