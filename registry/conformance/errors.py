"""How a check ends when it does not pass: a contract that does not hold, or nothing to look at."""

from __future__ import annotations

from registry.errors import RegistryError


class CheckFailed(RegistryError):
    """A contract does not hold: in one line what was expected, what came, what to do about it."""


class NotApplicable(RegistryError):
    """There is nothing to check; the message says why."""


class Refused(RegistryError):
    """The component says that it cannot serve these sizes or these neighbours."""
