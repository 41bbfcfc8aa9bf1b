"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotWrite(OSError):
    """A file that could not be written; the message, one line, names it and says why."""


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file at once: a reader sees the old file or the new one, never a part.

    Half a character, which no file may hold, is spelt out.

    Raises:
        CannotWrite: The folder cannot be made or written.
    """
    write_pieces(path, [text])


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """The same of a text that is made piece by piece, and need not be held whole.

    Raises:
        CannotWrite: The folder cannot be made or written.
    """
    _write(path, (piece.encode("utf-8", errors="backslashreplace") for piece in pieces))


def write_bytes(path: Path, content: bytes) -> None:
    """The same of bytes.

    Raises:
        CannotWrite: The folder cannot be made or written.
    """
    _write(path, [content])


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with _told(path, f"its folder {path.parent} cannot be made: "):
        path.parent.mkdir(parents=True, exist_ok=True)
    with _told(path):
        _write_beside(path, pieces)


@contextmanager
def _told(path: Path, before: str = "") -> Iterator[None]:
    """Name the file that was to be written, and not the one that was to become it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotWrite(f"{path} cannot be written: {before}{why}") from error


def _write_beside(path: Path, pieces: Iterable[bytes]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's file is for its owner alone
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
