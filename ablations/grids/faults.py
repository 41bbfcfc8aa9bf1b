"""Faults of values on their way to who tells them: raised where they are met, or collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ablations.grids.document import DataPath, Fault
from registry.errors import Incompatible

T = TypeVar("T")


class Faulty(ValueError):
    """A value that cannot be used; paths of its faults are relative to it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.message for fault in self.faults))


class Conflict(Incompatible):
    """Values of a model that do not go together; `key` is the one to change."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


class Faults:
    """What was found wrong so far; whoever adds to it goes on with what is sound."""

    def __init__(self, found: Iterable[Fault] = ()) -> None:
        self.found = list(found)

    def add(self, path: DataPath, message: str, on_key: bool = False) -> None:
        """Note a fault."""
        self.found.append(Fault(path, message, on_key))

    def attempt(self, path: DataPath, action: Callable[[], T]) -> T | None:
        """The action's result; None, and its faults noted, where the value at `path` is faulty."""
        try:
            return action()
        except Faulty as error:
            self.found += [fault.under(path) for fault in error.faults]
            return None
