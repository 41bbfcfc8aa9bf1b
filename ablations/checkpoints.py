"""How far a long measure got, kept while it runs, so that a killed trial goes on from there.

A checkpoint is two files: tensors as safetensors, named by their SHA-256, and a JSON document that
names them. Each is written whole and then renamed; the document last. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

SECONDS = "ABLATIONS_CHECKPOINT_SECONDS"
DEFAULT_SECONDS = 60.0
"""Between two checkpoints: a shorter trial never writes one."""


class Checkpoint:
    """The place of one measure of one trial; without a path nothing is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to save: `ABLATIONS_CHECKPOINT_SECONDS` after the last time."""
        return self._path is not None and time.monotonic() - self._last >= _seconds()

    def save(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Keep tensors and a document of plain values instead of what was kept before.

        On a disk that does not take them the trial goes on without, with a warning.
        """
        self._last = time.monotonic()
        if self._path is None:
            return
        data = safetensors.torch.save({name: t.contiguous() for name, t in tensors.items()})
        digest = hashlib.sha256(data).hexdigest()
        document = json.dumps({"sha256": digest, "state": dict(state)})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _write(self._tensors(digest), data)
            _write(self._path, document.encode())
        except OSError as error:
            warnings.warn(f"no checkpoint was kept: {error}", RuntimeWarning, stacklevel=2)
            return
        for other in self._files():
            if other not in (self._path, self._tensors(digest)):
                other.unlink(missing_ok=True)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """What was kept; None without, and where the files are not whole.

        To start anew from a damaged one costs time and changes no figure.
        """
        if self._path is None or not self._path.is_file():
            return None
        try:
            document = json.loads(self._path.read_bytes())
            digest, state = document["sha256"], document["state"]
            data = self._tensors(str(digest)).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                return None
            return safetensors.torch.load(data), state
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def discard(self) -> None:
        """Remove what was kept; what cannot be removed stays."""
        with contextlib.suppress(OSError):
            for file in self._files():
                file.unlink(missing_ok=True)

    def _tensors(self, digest: str) -> Path:
        assert self._path is not None, "asked for by those that have one"
        return self._path.with_name(f"{self._path.stem}.{digest[:16]}.safetensors")

    def _files(self) -> list[Path]:
        if self._path is None:
            return []
        return [self._path, *self._path.parent.glob(f"{self._path.stem}.*")]


def checkpoint_of(folder: str, *, cell: str, seed: int, measure: str, identity: str) -> Checkpoint:
    """The checkpoint of a measure of a trial in a folder; an edited measure has another."""
    if not folder:
        return Checkpoint()
    return Checkpoint(Path(folder) / f"{cell}-{seed}-{measure}-{identity}.json")


def _seconds() -> float:
    """Raises: ValueError for what is no number of seconds."""
    given = os.environ.get(SECONDS)
    if not given:
        return DEFAULT_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise ValueError(f"{SECONDS} must be a number of seconds, not {given!r}")
    return seconds


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
