"""The files that measures read, so that an edited text is measured anew."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from registry.errors import RegistryError, describe
from registry.spec import Choice


class UnreadableFile(RegistryError):
    """A file that a measure's figures depend on cannot be read, or the measure does not tell it."""


class ReadFiles:
    """Digests of files by their content, each read once; made anew for each run."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def of(self, measure: Choice) -> list[str]:
        """The digest of each file that a measure says it reads, in its order.

        Raises: UnreadableFile.
        """
        cls = measure.load()
        if not hasattr(cls, "files"):
            return []
        paths = self._told(measure, cls)
        return [self._digest(measure.name, path) for path in paths]

    @staticmethod
    def _told(measure: Choice, cls: Any) -> Sequence[str]:
        try:
            told = cls(**measure.options).files()
            if isinstance(told, (str, bytes, os.PathLike)):
                raise TypeError(f"files() returns a list of paths, not {told!r:.80} alone")
            return [os.fspath(path) for path in told]
        except Exception as error:
            raise UnreadableFile(
                f"measure {measure.name!r} does not tell which files it reads: {describe(error)}"
            ) from error

    def _digest(self, measure: str, path: str) -> str:
        if path not in self._digests:
            try:
                if Path(path).is_char_device() or Path(path).is_fifo():
                    raise ValueError("Not a regular file")  # it may never end
                with Path(path).open("rb") as file:
                    self._digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise UnreadableFile(
                    f"measure {measure!r} reads {path}, which cannot be read: {reason}"
                ) from error
        return self._digests[path]
