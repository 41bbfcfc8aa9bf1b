"""One run at a time in a directory, told by real processes; a dead one's lock is nobody's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ablations.storage.lock import RunLock
from ablations.store import RunLocked, Store
from tests.ablations.stores import PLAN

ROOT = Path(__file__).parents[3]

HOLD = """\
import os, subprocess, sys, time
from ablations.store import Store
from tests.ablations.stores import PLAN
store = Store.create_or_open(sys.argv[1])
store.begin(PLAN)
others = []
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        time.sleep(600)
    others = [child]
elif sys.argv[2] == "spawn":  # as carelessly as a plugin may
    others = [subprocess.Popen(["sleep", "600"], close_fds=False).pid]
print(*others, flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def holder(directory: Path, others: str = "") -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process that carries out a run in a directory, and what it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory), others],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    started = [int(pid) for pid in process.stdout.readline().split()]
    try:
        yield process, started
    finally:
        process.kill()
        for pid in started:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def test_a_run_of_another_process_is_named_and_its_results_are_read(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, _):
        with pytest.raises(RunLocked) as refused:
            Store.create_or_open(tmp_path)
        assert str(refused.value) == (
            f"process {process.pid} carries out a run in {tmp_path}: wait for it, or choose "
            "another directory"
        )
        with Store.open_readonly(tmp_path) as reader:
            assert len(reader.frames().cells) == 3


@pytest.mark.parametrize("others", ["", "fork", "spawn"])
def test_the_lock_of_a_killed_run_is_free_whatever_it_started_lives_on(
    tmp_path: Path, others: str
) -> None:
    with holder(tmp_path, others) as (process, started):
        process.kill()
        process.wait()
        assert len(started) == (1 if others else 0)
        for pid in started:
            os.kill(pid, 0)  # it is there
        assert (tmp_path / ".lock").read_text() == f"{process.pid}\n"
        with Store.create_or_open(tmp_path) as store:
            store.begin(PLAN)


def test_a_fork_that_releases_the_lock_leaves_it_with_its_owner(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(RunLocked, match=f"^process {os.getpid()} carries out"):
        RunLock(tmp_path)
    lock.release()
    RunLock(tmp_path).release()


def test_a_stale_file_with_anything_in_it_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(b"\xff" * 50)
    lock = RunLock(tmp_path)
    assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"
    lock.release()
    assert (tmp_path / ".lock").read_bytes() == b""
