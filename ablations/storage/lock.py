"""At most one run at a time in a directory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from ablations.storage.errors import RunLocked, StoreError

FILE = ".lock"

_held: set[int] = set()


def _forget() -> None:
    """A copy of this process that outlives it would keep its locks."""
    for file in _held:
        os.close(file)
    _held.clear()


os.register_at_fork(after_in_child=_forget)


class RunLock:
    """An exclusive lock on DIR/.lock, held until `release`, or until this process ends.

    The kernel keeps the lock with the open file, so that none is left behind by a process that
    was killed; a process that it started or forked does not have the file. The file holds the
    process's id, for the message alone.

    Raises: RunLocked if another process has it; StoreError if there is no way to tell.
    """

    def __init__(self, directory: Path) -> None:
        path = directory / FILE
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(f"{directory} cannot be written to: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreError(
                    f"{directory} is on a file system without locks ({error.strerror}): "
                    "choose another directory"
                ) from error
            who = f"process {holder}" if holder else "another process"
            raise RunLocked(
                f"{who} carries out a run in {directory}: wait for it, or choose another directory"
            ) from error
        _held.add(self._file)
        with contextlib.suppress(OSError):  # a full disk; the lock is ours all the same
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Let another run have the directory; does nothing the second time."""
        if self._file in _held:  # not in a copy of the process that took it
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            _held.discard(self._file)
            os.close(self._file)
        self._file = -1
