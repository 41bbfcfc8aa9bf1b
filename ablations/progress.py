"""How a run tells what it is doing: a live bar on a terminal, plain lines elsewhere; on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ablations.resuming import Standing

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts trials as they end: `started` once, then `ended` for each; a context manager."""

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self.total = 0
        self.counts: Counter[str] = Counter()
        self.first_ended: float | None = None
        self._stream = stream or sys.stderr
        self._told = 0.0
        self._bar: _Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def started(self, standing: Standing) -> None:
        """What the run directory holds, and how many trials are to be carried out."""
        self.total = standing.to_do
        self._told = time.monotonic()
        for line in standing.lines:
            print(line, file=self._stream)
        if self.total and self._stream.isatty():
            self._bar = _Bar(self.total, self._stream)

    def ended(self, state: str) -> None:
        """One trial more, in that state; the worst of its measures'."""
        self.counts[state] += 1
        now = time.monotonic()
        if self.first_ended is None:
            self.first_ended = now
        if self._bar is not None:
            self._bar.update(self.counts.total(), self.line(now))
        elif self.counts.total() == self.total or now - self._told >= SECONDS_BETWEEN_LINES:
            self._told = now
            print(self.line(now), file=self._stream, flush=True)
        if self.counts.total() == self.total:
            self._stop()  # what comes after the last trial is not its progress

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def line(self, now: float) -> str:
        """`120/360 trials: 119 done, 1 failed, 240 left, 2.1 a second, 1 min 54 s to go`.

        The rate is that since the first trial ended, so that starting workers does not count.
        """
        ended = self.counts.total()
        states = [f"{count} {state}" for state, count in sorted(self.counts.items())]
        left = self.total - ended
        parts = [*states, f"{left} left"]
        if ended > 1 and self.first_ended is not None and now > self.first_ended:
            rate = (ended - 1) / (now - self.first_ended)
            parts.append(f"{rate:.3g} a second")
            if left:
                parts.append(f"{duration(left / rate)} to go")
        return f"{ended}/{self.total} trials: {', '.join(parts)}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: `45 s`, `1 min 54 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class _Bar:
    def __init__(self, total: int, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._progress = RichProgress(
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream),
        )
        self._task = self._progress.add_task("starting workers", total=total)
        self._progress.start()

    def update(self, completed: int, text: str) -> None:
        self._progress.update(self._task, completed=completed, description=text)

    def stop(self) -> None:
        self._progress.stop()
