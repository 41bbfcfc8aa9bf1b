"""What this process may use of its machine: cores, and memory for each worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ablations.amounts import in_words

RESERVE = 0.1
"""Of the memory that is left to the driver, to other programs, and to what is taken between two
looks at a trial."""

LEAST = 2**30
"""Bytes that a trial may use at least: its process holds a few hundred MiB before it begins."""

_CGROUP = Path("/proc/self/cgroup")
_MOUNT = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less as its cgroup says."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([whole, *_cgroup_limits(_CGROUP, _MOUNT)])


def memory_share(workers: int) -> int:
    """Bytes that a trial may use where the grid says nothing, with so many workers."""
    return max(int(usable_memory() * (1 - RESERVE)) // workers, LEAST)


def refusal(needed: int, limit: int | None) -> str:
    """Why a measure that needs so many bytes at least is not begun; nothing where it may fit."""
    if limit is None or needed <= limit:
        return ""
    return (
        f"needs at least {in_words(needed)} of memory, more than the {in_words(limit)} that a "
        "trial may use: use fewer workers or a larger machine, raise memory where the grid sets "
        "it, or make the model smaller"
    )


def _cgroup_limits(memberships: Path, mount: Path) -> Iterator[int]:
    """The limits of the cgroups that hold this process, of either version, and of those above."""
    try:
        lines = memberships.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            base, name = (
                (mount / "memory", "memory.limit_in_bytes")
                if controllers
                else (mount, "memory.max")
            )
            group = base / path.lstrip("/")
            # Within a container the path may be the host's, of which the mount shows the end.
            for folder in (group, *group.parents):
                yield from _limit(folder / name)
                if folder == base:
                    break


def _limit(file: Path) -> Iterator[int]:
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return
    if text.isdigit():  # and not `max`
        yield int(text)
