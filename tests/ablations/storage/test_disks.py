"""Disks that are full or read-only: told in a line, and what is recorded stays."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ablations.storage import errors
from ablations.storage.errors import explained
from ablations.store import Store, StoreError
from tests.ablations.storage.mounted import needs_mounts, run_mounted
from tests.ablations.storage.test_access import killed
from tests.ablations.stores import PLAN, result

FILL = """\
import sys
from pathlib import Path
from ablations.store import Store, StoreError
from tests.ablations.stores import PLAN, result

place = Path(sys.argv[1])


def told(what):
    try:
        return what()
    except StoreError as error:
        return str(error).replace(str(place), "PLACE")


directory = place / "run"
store = Store.create_or_open(directory)
store.begin(PLAN)
(place / "other").write_bytes(b"x" * 2**19)  # what somebody else may remove later
n, ended = 0, None
while ended is None:
    ended = told(lambda: store.record(result(seed=n, traceback="x" * 5000)))
    n += ended is None
    assert n < 1000
print(ended)
print(len(store.known()) == n > 5)
store.close()
with Store.open_readonly(directory) as reader:
    print(len(reader.known()) == n)
filler = (place / "filler").open("wb", buffering=0)
try:
    while filler.write(b"x" * 512):
        pass
except OSError:
    pass
filler.close()
print(told(lambda: Store.create_or_open(place / "new").begin(PLAN)))
(place / "filler").unlink()
(place / "other").unlink()
with Store.create_or_open(directory) as store:
    print(len(store.known()) == n)
    for one in range(3):
        store.record(result("b", seed=one))
    print(len(store.known()) == n + 3)
print(sorted(path.name for path in directory.iterdir()))
"""
FULL = "the disk is full; free some space and run again; what has been recorded is kept"


@needs_mounts
def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    mount = f"mount -t tmpfs -o size=1m tmpfs {shlex.quote(str(place))}"
    assert run_mounted(mount, place, FILL).splitlines() == [
        f"PLACE/run/results.sqlite: {FULL}",
        "True",
        "True",
        f"PLACE/new/results.sqlite: {FULL}",
        "True",
        "True",
        "['.lock', 'grid.yaml', 'results.sqlite']",
    ]


def test_what_sqlite_calls_an_error_of_a_full_disk_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    for needed, said in ((0, "the disk reports an error; what has been recorded is kept"),
                         (2**80, FULL)):  # fmt: skip
        monkeypatch.setattr(errors, "NEEDED", needed)
        with pytest.raises(StoreError) as told, explained(tmp_path / "f"):
            raise error
        assert str(told.value) == f"{tmp_path / 'f'}: {said}"


READ = """\
import sys
from pathlib import Path
from ablations.store import Store, StoreError

for way in (Store.open_readonly, Store.create_or_open):
    try:
        with way(sys.argv[1]) as store:
            print(len(store.known()))
    except StoreError as error:
        print(str(error).replace(sys.argv[1], "PLACE"))
"""
REFUSED = "PLACE cannot be written to: Read-only file system"
JOURNAL = (
    "PLACE/results.sqlite: a run that was killed left its journal beside it, which cannot be read "
    "in a directory that is not writable: copy the whole directory to where you may write, and "
    "read it there"
)


@needs_mounts
@pytest.mark.parametrize(
    ("end", "without", "told"),
    [
        ("clean", (), "1"),
        ("killed", (), "1"),
        ("killed", ("-shm",), JOURNAL),  # as if it had been copied
        ("checkpointed", ("-wal", "-shm"), "1"),
    ],
)
def test_a_read_only_disk_is_read(
    tmp_path: Path, end: str, without: tuple[str, ...], told: str
) -> None:
    place = tmp_path / "run"
    if end == "clean":
        with Store.create_or_open(place) as store:
            store.begin(PLAN)
            store.record(result())
    else:
        killed(place, end)
    for suffix in without:
        (place / f"results.sqlite{suffix}").unlink()
    quoted = shlex.quote(str(place))
    mount = f"mount --bind {quoted} {quoted}; mount -o remount,bind,ro {quoted}"
    assert run_mounted(mount, place, READ).splitlines() == [told, REFUSED]
    shutil.copytree(place, tmp_path / "copy")
    with Store.open_readonly(tmp_path / "copy") as store:
        assert len(store.known()) == 1


def test_the_command_ends_with_status_3_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "grid.yaml").write_text(
        "name: small\nfactors: {norm: [layernorm, rmsnorm]}\nmeasures: [parameters]\n"
    )
    ended = subprocess.run(
        [*(sys.executable, "-m", "ablations", "run", "grid.yaml"), "--out", "file/run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == "file/run cannot be made: Not a directory\n"
