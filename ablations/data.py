"""What a pass reads: random tokens, or windows of a text, byte by byte.

A text is the built-in one, a file, or a folder, of which all files are read one after another in
the order of their paths, but for hidden ones.

Shapes: B batch, T tokens.
"""

from __future__ import annotations

import errno
import importlib.util
import itertools
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from registry.errors import nearest

RANDOM, TEXT = "random", "text"
BYTES = 256
LARGE = 1 << 28
"""Bytes of a file that is not read into memory as a whole."""
MAX_ENTRIES = 100_000
"""Files and folders below one that is named as a text; more is no text that anybody meant."""

Version = tuple[Path, int, int]
"""A file, and what changes when it is edited: the time of that, and its size."""


def sequences(
    source: str,
    *,
    batch: int,
    length: int,
    vocab_size: int,
    generator: Callable[[str], torch.Generator],
) -> tuple[Tensor, Tensor]:
    """Token ids and targets, both (B, T).

    `random`: both uniform over the vocabulary, independent of each other. A text: windows that
    start anywhere in it, a token a byte, each token's target the one after it.

    Raises: ValueError for what `refusal` refuses.
    """
    reason = refusal(source, length=length, vocab_size=vocab_size)
    if reason:
        raise ValueError(reason)
    if source == RANDOM:
        tokens, targets = (
            torch.randint(vocab_size, (batch, length), generator=generator(name))
            for name in ("tokens", "targets")
        )
        return tokens, targets
    text = text_of(source)
    starts = torch.randint(len(text) - length, (batch, 1), generator=generator("tokens"))
    places = starts + torch.arange(length + 1)  # (B, T + 1)
    windows = torch.from_numpy(text[places.numpy()].astype(np.int64))
    return windows[:, :-1], windows[:, 1:]


def refusal(source: str, *, length: int, vocab_size: int) -> str | None:
    """Why sequences cannot be taken from there, or None."""
    if source == RANDOM:
        return None
    if not is_name(source):
        return f"data {source!r} names no text: {RANDOM!r}, {TEXT!r}, or a file or folder"
    if vocab_size < BYTES:
        return f"data {source!r} is read byte by byte: vocab_size must be at least {BYTES}"
    try:
        size = len(text_of(source))
    except OSError as error:
        hint = nearest(source, [RANDOM, TEXT])
        return (
            f"data {source!r} is neither {RANDOM!r} nor {TEXT!r} nor a file or folder that can be "
            f"read ({error.strerror}); {hint}"
        )
    if size <= length:
        return f"data {source!r} has {size} bytes, and length {length} needs {length + 1} or more"
    return None


def is_name(source: str) -> bool:
    """Whether it can be the name of a file; nothing would be the current folder."""
    return bool(source.strip()) and "\0" not in source


def files_of(source: str) -> list[Path]:
    """The files that the figures depend on. Raises: OSError for a folder of too many."""
    if source == RANDOM:
        return []
    if source == TEXT:
        return [_built_in()]
    path = Path(source)
    if not path.is_dir():
        return [path]
    inside = list(itertools.islice(path.rglob("*"), MAX_ENTRIES + 1))
    if len(inside) > MAX_ENTRIES:
        raise OSError(errno.E2BIG, f"More than {MAX_ENTRIES:,} entries in this folder", source)
    return [
        file
        for file in sorted(inside)
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]


def text_of(source: str) -> NDArray[np.uint8]:
    """A text as bytes; a file's are read once, of a large one only where it is looked at.

    `text` is the English of the standard library's `pydoc_data.topics`.

    Raises: OSError when it is a file that cannot be read, or a folder without any.
    """
    if source == TEXT:
        return _topics()
    files = versions_of(source)
    if not files:
        raise OSError(errno.ENOENT, "No file in this folder")
    return _joined(files)


def versions_of(source: str) -> tuple[Version, ...]:
    """The files behind a text. Raises: OSError for one that cannot be looked at."""
    stats = [(file, file.stat()) for file in files_of(source)]
    return tuple((file, stat.st_mtime_ns, stat.st_size) for file, stat in stats)


@lru_cache(maxsize=2)
def _joined(files: tuple[Version, ...]) -> NDArray[np.uint8]:
    parts = [bytes_of(file) for file, _, _ in files]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def bytes_of(path: Path) -> NDArray[np.uint8]:
    """A regular file's bytes; of a large one only where it is looked at. Raises: OSError."""
    if path.exists() and not path.is_file():  # a pipe would wait for what is written to it
        raise OSError(errno.EINVAL, "Not a regular file")
    if path.stat().st_size > LARGE:
        return np.memmap(path, dtype=np.uint8, mode="r")
    # As one that is edited meanwhile would change under a memory map, or end the process.
    return np.frombuffer(path.read_bytes(), dtype=np.uint8)


@lru_cache(maxsize=1)
def _built_in() -> Path:
    found = importlib.util.find_spec("pydoc_data.topics")
    origin = found.origin if found else None
    assert origin is not None, "part of the standard library"
    return Path(origin)


@lru_cache(maxsize=1)
def _topics() -> NDArray[np.uint8]:
    from pydoc_data.topics import topics

    return np.frombuffer("".join(topics.values()).encode(), dtype=np.uint8)
