"""Files that are whole or not there, whenever the process or the machine stops."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once: a reader sees the old one or the new one, never a part of either.

    The new one is on the disk when this returns, its name too.

    Raises: OSError that names the file, not the one beside it; the old file is as it was.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        beside.unlink(missing_ok=True)
    _sync_names(path.parent)


def _sync_names(folder: Path) -> None:
    """A renamed file keeps its new name through a power cut only once its folder is synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
