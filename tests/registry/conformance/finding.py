"""Runs one check of a component, and tells what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from registry.conformance.running import Suite


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A component with one fault, the check that finds it, and what the check then says."""

    kind: str
    check: str
    cls: Any
    message: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.check}-{getattr(self.cls, '__name__', self.cls)}"


def found(fault: Fault) -> tuple[str, str]:
    """Outcome and message of the check of a faulty component."""
    result = Suite(fault.kind, fault.cls, options=fault.options).result(fault.check)
    return result.outcome, result.message


def outcome(kind: str, cls: Any, check: str, **options: Any) -> str:
    """What came of one check."""
    return Suite(kind, cls, options=options).result(check).outcome
