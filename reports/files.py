"""Files that are whole or not there."""

import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file at once: a reader sees the old file or the new one, never a part.

    Raises:
        OSError: The folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(
            handle, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's file is for its owner alone
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
