"""What goes wrong between a person, a plugin and the catalog; every message is one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class RegistryError(Exception):
    """Root of this package's errors."""


class InvalidSpec(RegistryError, ValueError):
    """A plugin declared something that cannot be registered or built."""


class UnknownName(RegistryError, LookupError):
    """No plugin registered that name."""


class AmbiguousName(RegistryError, LookupError):
    """Several plugins registered that name; `distribution/name` tells them apart."""


class InvalidSelection(RegistryError, ValueError):
    """A choice of installed plugins that means nothing; one line for each fault."""


class PluginError(RegistryError, ValueError):
    """Plugins that were asked for and cannot be used, one line each.

    `findings` holds one (name or path as asked for, reason) pair for each.
    """

    def __init__(self, findings: Iterable[tuple[str, str]]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(f"plugin {asked!r}: {why}" for asked, why in self.findings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.findings,)


class InvalidOptions(RegistryError, ValueError):
    """Options that a component does not have, or values that it does not take.

    `findings` holds one (option, message) pair for every fault, not the first alone; the option
    is `None` where the fault belongs to no single one.
    """

    def __init__(self, findings: Iterable[tuple[str | None, str]]) -> None:
        self.findings = tuple(findings)
        super().__init__("; ".join(message for _, message in self.findings))

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is rebuilt from its message by default; a worker's must keep its findings.
        return type(self), (self.findings,)


class Incompatible(RegistryError, ValueError):
    """A component cannot serve these dimensions or these neighbours: the cell is skipped."""


class MissingExtra(RuntimeError):
    """What was asked for needs a library that is not installed: nothing is run."""


LONGEST = 500
"""Characters of a stranger's message that are kept."""


def describe(error: BaseException) -> str:
    """A stranger's exception in one line: its type and message, or ours as they are."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # even that may be broken, and must not break who reports it
        message = "(its message cannot be read)"
    if len(message) > LONGEST:
        message = f"{message[:LONGEST]} …"
    if isinstance(error, RegistryError):
        return message
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause naming the closest known spelling and then all of them, sorted.

    Upper and lower case are the same when spellings are compared.

    >>> nearest("layernrom", ["rmsnorm", "layernorm"])
    "did you mean 'layernorm'? known: layernorm, rmsnorm"
    """
    names = sorted(set(known))
    if not names:
        return "none is known"
    spelled = {name.lower(): name for name in names}
    close = difflib.get_close_matches(str(name).lower(), spelled, n=1)
    suggestion = f"did you mean {spelled[close[0]]!r}? " if close else ""
    return f"{suggestion}known: {', '.join(names)}"
