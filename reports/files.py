"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file at once: a reader sees the old file or the new one, never a part.

    Half a character, which no file may hold, is spelt out.

    Raises:
        OSError: The folder cannot be made or written.
    """
    write_pieces(path, [text])


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """The same of a text that is made piece by piece, and need not be held whole.

    Raises:
        OSError: The folder cannot be made or written.
    """
    _write(path, (piece.encode("utf-8", errors="backslashreplace") for piece in pieces))


def write_bytes(path: Path, content: bytes) -> None:
    """The same of bytes.

    Raises:
        OSError: The folder cannot be made or written.
    """
    _write(path, [content])


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
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
