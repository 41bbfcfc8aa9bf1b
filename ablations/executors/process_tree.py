"""The processes below a worker, as /proc shows them; where there is no /proc, nothing is found."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SEEN = sys.platform == "linux"
"""Whether processes that a trial starts can be found, counted and ended here."""

MARK = "_ABLATIONS_WORKER"
"""The environment variable by which the processes that a worker started are told from others."""

TICKS = os.sysconf("SC_CLK_TCK")

START_SECONDS = 0.02
"""A worker runs no stranger's code that early; what else has its mark began with it."""

_PR_SET_CHILD_SUBREAPER = 36


def keep_orphans() -> None:
    """Let what a trial starts stay below this process, also when it detaches itself."""
    if SEEN:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(process: int) -> list[int]:
    """The living processes below one, without itself."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        for child in _children(waiting.pop()):
            waiting.append(child)
            if _alive(child):
                found.append(child)
    return found


def resident_bytes(process: int) -> int:
    """Memory that one process alone could give back: without files, which the system can drop."""
    fields = _fields(f"/proc/{process}/status", ("RssAnon:", "RssShmem:"))
    return sum(fields.values())


def shared_out_bytes(processes: Iterable[int]) -> int:
    """The same of several processes, what they share by a fork counted once; slow to find out."""
    names = ("Pss_Anon:", "Pss_Shmem:")
    return sum(
        sum(_fields(f"/proc/{process}/smaps_rollup", names).values()) for process in processes
    )


@dataclass(frozen=True, kw_only=True)
class Family:
    """A worker process, and how to find what it left when it is gone itself."""

    process: int
    mark: str
    started: float
    """In seconds since the machine started."""

    @classmethod
    def of(cls, process: int, mark: str) -> Family:
        """That of a process that was just started."""
        return cls(process=process, mark=mark, started=_started(process) or 0.0)

    def end(self, seconds: float) -> None:
        """Kill all of them, those too that start meanwhile, within so many seconds."""
        with contextlib.suppress(OSError):
            os.killpg(self.process, signal.SIGKILL)
        until = time.monotonic() + seconds
        while SEEN and (left := list(self._left())) and time.monotonic() < until:
            for process in left:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)

    def _left(self) -> Iterator[int]:
        mark = f"{MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in (os.getpid(), self.process):
                continue
            with contextlib.suppress(OSError):
                environment = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
                started = _started(int(entry))
                if mark in environment and started and started > self.started + START_SECONDS:
                    yield int(entry)


def _children(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"/proc/{process}/task/{task}/children").read_text(encoding="ascii")
                yield from map(int, text.split())


def _stat(process: int) -> list[str] | None:
    """What /proc/PID/stat says behind the name, which may hold anything; None of one that ended."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        return fields if fields[0] not in ("Z", "X") else None
    return None


def _alive(process: int) -> bool:
    return _stat(process) is not None


def _started(process: int) -> float | None:
    fields = _stat(process)
    return int(fields[19]) / TICKS if fields else None


def _fields(path: str, names: tuple[str, ...]) -> dict[str, int]:
    """Values in bytes of `name: value kB` lines; nothing of a process that is gone."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="ascii", errors="replace").splitlines():
            name, *values = line.split()
            if name in names:
                found[name] = int(values[0]) * 1024
    return found
