"""How far a long measure got, kept while it runs, so that a killed trial goes on from there.

A checkpoint is two files: tensors as safetensors, named by their SHA-256, and a JSON document that
names them. Each is written whole; the document last. Nothing is unpickled. The document is
authenticated under a key that the store of the run holds, since a measure that goes on from a file
that was edited, or that belongs to another run, would give figures that nobody can account for.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from ablations.whole_files import write_whole

SECONDS = "ABLATIONS_CHECKPOINT_SECONDS"
DEFAULT_SECONDS = 60.0
"""Between two checkpoints: a shorter trial never writes one."""


@dataclass(frozen=True, kw_only=True)
class CheckpointFolder:
    """Where the trials of a run keep their checkpoints, and the key under which they do."""

    path: str
    key: bytes = field(repr=False)


class NotBelieved(Exception):
    """A checkpoint that is damaged, or that this run did not write."""


class Checkpoint:
    """The place of one measure of one trial; without a path nothing is kept.

    `key` authenticates what is written there.
    """

    def __init__(self, path: Path | None = None, key: bytes = b"") -> None:
        self._path = path
        self._key = key
        self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to save: `ABLATIONS_CHECKPOINT_SECONDS` after the last time.

        It never is where the run directory is not there, on another machine: nobody would find it.
        """
        if self._path is None or time.monotonic() - self._last < _seconds():
            return False
        return self._path.parent.parent.is_dir()

    def save(self, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> None:
        """Keep tensors and a document of plain values instead of what was kept before.

        On a disk that does not take them the trial goes on without, with a warning.
        """
        self._last = time.monotonic()
        if self._path is None:
            return
        data = safetensors.torch.save({name: t.contiguous() for name, t in tensors.items()})
        digest = hashlib.sha256(data).hexdigest()
        content = {"sha256": digest, "state": dict(state)}
        document = json.dumps({**content, "hmac": self._authenticate(content)})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._tensors(digest), data)
            write_whole(self._path, document.encode())
        except OSError as error:
            why = f"{error.filename} cannot be written: {error.strerror}"
            warnings.warn(f"no checkpoint was kept: {why}", RuntimeWarning, stacklevel=2)
            return
        for other in self._files():
            if other not in (self._path, self._tensors(digest)):
                other.unlink(missing_ok=True)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """What was kept; None without, and, with a warning, where it is not to be believed.

        To start anew costs time and changes no figure.
        """
        if self._path is None or not self._path.exists():
            return None
        try:
            return self._read(self._path)
        except NotBelieved as reason:
            warnings.warn(
                f"the checkpoint {self._path.name} is not taken up, and its trial starts anew: "
                f"{reason}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        try:
            content = json.loads(path.read_bytes())
            claimed = content.pop("hmac")
            if not hmac.compare_digest(self._authenticate(content), claimed):
                raise NotBelieved("it was changed since it was written, or is another run's")
            data = self._tensors(content["sha256"]).read_bytes()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NotBelieved("its files are not whole") from error
        if hashlib.sha256(data).hexdigest() != content["sha256"]:
            raise NotBelieved("its tensors were changed since they were written")
        return safetensors.torch.load(data), content["state"]

    def _authenticate(self, content: Mapping[str, Any]) -> str:
        """What only this run can say of a document, and of this trial's alone."""
        assert self._path is not None, "asked for by those that have one"
        said = json.dumps([self._path.name, content]).encode()
        return hmac.new(self._key, said, "sha256").hexdigest()

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


def checkpoint_of(
    folder: CheckpointFolder | None, *, cell: str, seed: int, measure: str, identity: str
) -> Checkpoint:
    """The checkpoint of a measure of a trial in a folder; an edited measure has another."""
    if folder is None:
        return Checkpoint()
    return Checkpoint(Path(folder.path) / f"{cell}-{seed}-{measure}-{identity}.json", folder.key)


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
