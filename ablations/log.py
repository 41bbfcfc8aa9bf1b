"""DIR/log.jsonl: what happened in a run, a JSON object a line, added to by each start of it.

Each line has `time` (UTC), `level`, `event` and what that event tells. It is written at once and
whole, so that a run killed at any moment leaves lines that can be read; of a line that a full disk
or a lost machine cut short the next start keeps what there is and begins a new one.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ablations.printable import line, printable
from ablations.results import TrialResult, worst
from ablations.storage.errors import StoreError
from registry.events import RunState

if TYPE_CHECKING:
    from ablations.planning import Plan
    from ablations.storage.plan import RunPlan

FILE = "log.jsonl"

LONGEST = 4_000
"""Characters of a text in a line; of a longer one, as of a traceback, the end is kept."""

_LEVELS: Mapping[str, int] = {
    "failed": logging.ERROR,
    "crashed": logging.ERROR,
    "timeout": logging.ERROR,
    "diverged": logging.WARNING,
}
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|AUTH", re.I)
_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_SHORTEST_SECRET = 6  # a shorter one is more likely a word like any other


class RunLog:
    """The log of one start of a run; a context manager, which tells how the run ended.

    `verbose` shows the lines on stderr as they come, with tracebacks.

    Raises: StoreError where the file cannot be written.
    """

    def __init__(self, directory: Path, *, verbose: bool = False) -> None:
        self.warned: list[str] = []
        """The first warning of each trial that warned."""
        self._begun = time.monotonic()
        path = directory / FILE
        # Of its own, not of the process' tree of loggers: two runs of one process have two logs.
        self._logger = logging.Logger("ablations.run", logging.INFO)
        try:
            _end_last_line(path)
            self._file = _File(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error
        self._file.setFormatter(JsonLines())
        self._logger.addHandler(self._file)
        if verbose:
            console = _Console()
            console.setFormatter(PlainLines())
            self._logger.addHandler(console)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, KeyboardInterrupt):
                self.warn("run ended", state="interrupted")
            elif error is not None:
                message = f"{type(error).__name__}: {error}"
                self._tell(logging.ERROR, "run ended", {"state": "failed", "message": message})
        finally:
            self._file.close()

    def tell(self, event: str, **fields: Any) -> None:
        """Log an event as usual."""
        self._tell(logging.INFO, event, fields)

    def warn(self, event: str, **fields: Any) -> None:
        """Log an event that a person should look at."""
        self._tell(logging.WARNING, event, fields)

    def started(self, plan: Plan, recorded: RunPlan, *, reused: int) -> None:
        """Log that the trials of a plan begin, less those reused, and where."""
        self.tell(
            "run started",
            name=plan.grid.name,
            grid=plan.grid.document.source,
            cells=len(plan.cells),
            trials=plan.trials - reused,
            reused=reused,
            environment={row["key"]: row["value"] for row in recorded.environment},
        )

    def ended(
        self,
        state: RunState,
        trials: Mapping[str, int],
        faulty: Mapping[str, str],
        unfollowed: Mapping[str, str],
    ) -> None:
        """Log that a run ended, how many trials in which state, and what was at fault beside."""
        for name, fault in faulty.items():
            self.warn("component breaks its contract", component=name, message=fault)
        for name, reason in unfollowed.items():
            self.warn("plugin follows no more", plugin=name, message=reason)
        seconds = round(time.monotonic() - self._begun, 3)
        warned = len(self.warned)
        self.tell("run ended", state=state, trials=dict(trials), warned=warned, seconds=seconds)

    def trial(self, result: TrialResult, label: str) -> None:
        """Log that a trial ended, and what it warned of."""
        state = worst(measure.state for measure in result.measures)
        told = [f"{m.measure}: {m.message}" for m in result.measures if m.message]
        traces = [measure.traceback for measure in result.measures if measure.traceback]
        of = {"cell": result.cell, "label": label, "seed": result.seed}
        fields = {
            **of,
            "state": state,
            "seconds": round(sum(measure.seconds for measure in result.measures), 3),
            "measures": {measure.measure: measure.state for measure in result.measures},
            **({"message": "; ".join(told)} if told else {}),
            **({"traceback": "\n".join(traces)} if traces else {}),
        }
        self._tell(_LEVELS.get(state, logging.INFO), "trial ended", fields)
        warned = [text for measure in result.measures for text in measure.warnings]
        self.warned += warned[:1]
        for measure in result.measures:
            for text in measure.warnings:
                self.warn("trial warned", **of, measure=measure.measure, message=text)

    def _tell(self, level: int, event: str, fields: Mapping[str, Any]) -> None:
        self._logger.log(level, "%s", event, extra={"fields": fields})


class JsonLines(logging.Formatter):
    """A record as one line of JSON in ASCII, its texts bounded, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        return json.dumps(_document(record), ensure_ascii=True, default=str)


class PlainLines(logging.Formatter):
    """A record as a person reads it; a traceback in lines of its own below."""

    def format(self, record: logging.LogRecord) -> str:
        """The text, without its end."""
        document = _document(record)
        trace = document.pop("traceback", "")
        moment, level, event = (document.pop(key) for key in ("time", "level", "event"))
        told = " ".join(f"{key}={_shown(value)}" for key, value in document.items())
        first = line(f"{moment} {level} {event} {told}".rstrip())
        return f"{first}\n{printable(trace).rstrip()}" if trace else first


def _document(record: logging.LogRecord) -> dict[str, Any]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    head = {"time": moment, "level": record.levelname, "event": record.getMessage()}
    return {**head, **{key: _bounded(value) for key, value in fields.items()}}


def _bounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _bounded(item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    text = _without_secrets(value)
    return text if len(text) <= LONGEST else f"… {text[-LONGEST:]}"


def _without_secrets(text: str) -> str:
    """A text without what the environment keeps secret, and without passwords in addresses.

    Exceptions quote what they were given: an address with its password, a header with its token.
    """
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, f"({name})")
    return _IN_URL.sub("…", text)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _end_last_line(path: Path) -> None:
    """End a line that was cut short, so that the next one is its own."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


class _File(logging.FileHandler):
    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Let what went wrong out: a log with holes in it says nothing."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            raise StoreError(f"{self.baseFilename} cannot be written: {error.strerror}") from error
        raise


class _Console(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Write to what is stderr by now: a progress bar takes its place."""
        print(self.format(record), file=sys.stderr, flush=True)
