"""A request to end, as a batch system sends it, taken as Ctrl-C is: what ended is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """This process was sent SIGTERM."""


@contextlib.contextmanager
def told_to_end() -> Iterator[None]:
    """Raise Terminated in the main thread where SIGTERM comes; as before outside."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
