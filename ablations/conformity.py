"""What holding a component to the contracts of its kind found, and what it says of its trials.

Found once a component and version, it stands in the run directory and, for other runs, in the
user's cache.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LEAKS, NONCONFORMING, UNCHECKED = "leaks", "nonconforming", "unchecked"
"""Marks on the trials of a component that reads the future, that breaks another contract, and that
has not been examined."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Conformity:
    """What came of an examination: how many checks ran, and those that found a fault.

    `leaks` says that the component reads the future, also where that was expected of it.
    """

    passed: bool
    leaks: bool
    n_run: int
    faults: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`passed 35 checks`, or what is wrong."""
        if self.passed:
            held = f"passed {self.n_run} checks"
            return f"{held}, but reads the future, as expected" if self.leaks else held
        first = sorted(self.faults, key=lambda fault: not fault.startswith("causality"))
        return f"failed: {'; '.join(first)}"  # what reads the future first

    @property
    def marks(self) -> tuple[str, ...]:
        """What is said of every trial that the component takes part in."""
        found = {LEAKS: self.leaks, NONCONFORMING: not self.passed and not self.leaks}
        return tuple(mark for mark, holds in found.items() if holds)


def cell_marks(keys: Iterable[str], known: Mapping[str, Conformity]) -> tuple[str, ...]:
    """The marks that the components of a cell give to its trials, sorted."""
    marks: set[str] = set()
    for key in keys:
        marks |= set(known[key].marks) if key in known else {UNCHECKED}
    return tuple(sorted(marks))


def as_document(conformity: Conformity) -> dict[str, Any]:
    """As plain data."""
    return asdict(conformity)


def from_document(document: Mapping[str, Any]) -> Conformity:
    """From plain data. Raises: TypeError, KeyError for what is none."""
    return Conformity(**{**document, "faults": tuple(document["faults"])})


class Cache:
    """Conformities of components that earlier runs of this user examined: a file each.

    In `$ABLATIONS_CACHE`, else below `$XDG_CACHE_HOME` or `~/.cache`. A cache that cannot be read
    or written costs time and nothing else.
    """

    def __init__(self) -> None:
        given = os.environ.get("ABLATIONS_CACHE")
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.directory = Path(given) if given else Path(base) / "ablations"

    def found(self, keys: Iterable[str]) -> Iterator[tuple[str, Conformity]]:
        """Those of the keys that it holds."""
        for key in keys:
            try:
                text = self._path(key).read_text(encoding="utf-8")
                yield key, from_document(json.loads(text))
            except (OSError, ValueError, TypeError, KeyError):
                continue

    def keep(self, key: str, conformity: Conformity) -> None:
        """Hold what was found, unless an accident stands behind it."""
        if not conformity.n_run:
            return
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            beside = self._path(key).with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps(as_document(conformity)), encoding="utf-8")
            beside.replace(self._path(key))
        except OSError as error:
            log.debug("the cache %s cannot be written: %s", self.directory, error)

    def _path(self, key: str) -> Path:
        return self.directory / f"conformance-{key}.json"
