"""An old run moved out of the way of a new one, and back where the new one is refused."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from types import TracebackType

from ablations.log import FILE as LOG
from ablations.storage.errors import NoRun, StoreError
from ablations.storage.lock import FILE as LOCK
from ablations.storage.lock import RunLock
from ablations.storage.schema import FILE, GRID, JOURNALS

MADE = (LOCK, GRID, LOG, FILE, *(f"{FILE}{suffix}" for suffix in JOURNALS))
"""What a run makes before its first trial."""

log = logging.getLogger(__name__)


class Aside:
    """Moves the run in `out` aside, if `wanted`; a context manager around the run that follows.

    `path` is where the old run is now, None where nothing was moved. Until `settle` is called the
    new run may be refused: an exception then removes what was made of it, which holds no result
    yet, and puts the old run back. Nothing else is ever removed.
    """

    def __init__(self, out: Path, *, wanted: bool) -> None:
        self.path: Path | None = None
        self._out = out
        self._wanted = wanted

    def __enter__(self) -> Aside:
        """Raises: RunLocked while another process runs in it; NoRun for a directory of other
        things; StoreError for one that cannot be renamed."""
        if self._wanted:
            self.path = _moved(self._out)
        self._old = self.path
        return self

    def settle(self) -> None:
        """The new run has begun, and stays."""
        self._old = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or self._old is None:
            return
        try:
            if self._out.exists():
                for name in MADE:
                    (self._out / name).unlink(missing_ok=True)
                self._out.rmdir()
            self._old.rename(self._out)
        except OSError as reason:  # somebody put other things there
            log.warning("the old run is now %s (%s)", self._old, reason)


def _moved(out: Path) -> Path | None:
    if not out.exists() or not any(out.iterdir()):
        return None
    if not (out / FILE).exists():
        raise NoRun(f"{out} holds no run, so it is not moved aside: choose another directory")
    lock = RunLock(out)  # held over the move, so that no run begins in between
    try:
        aside = _unused(out)
        out.rename(aside)
    except OSError as error:
        raise StoreError(f"{out} cannot be moved aside: {error.strerror}") from error
    finally:
        lock.release()
    return aside


def _unused(out: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = out.with_name(f"{out.name}.{stamp}")
    count = 1
    while aside.exists():
        count += 1
        aside = out.with_name(f"{out.name}.{stamp}-{count}")
    return aside
