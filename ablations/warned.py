"""What code warned of while it ran: kept and handed on, never printed past whom it concerns."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path

from ablations.printable import line

MOST = 20
"""Warnings kept of one measure of a trial; those that differ, in their order."""


@contextlib.contextmanager
def collected() -> Iterator[list[str]]:
    """A list that holds, after the block, each warning of it once: `Category: text (file:line)`.

    Python's filters stay as they are: what they ignore is ignored, what they make an error raises.
    """
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield told
        finally:
            told += dict.fromkeys(map(_text, caught))
            if len(told) > MOST:
                told[MOST:] = [f"… and {len(told) - MOST} other warnings"]


def _text(warning: warnings.WarningMessage) -> str:
    # The file's name alone: where it lies differs from one machine to the next.
    where = f"{Path(warning.filename).name}:{warning.lineno}"
    try:
        message = " ".join(str(warning.message).split())
    except Exception:  # a stranger's message may be broken, and must not break who reports it
        message = "(its message cannot be read)"
    return line(f"{warning.category.__name__}: {message} ({where})")
