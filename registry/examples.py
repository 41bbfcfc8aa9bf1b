"""The option sets with which a component is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from registry.errors import InvalidSpec


@dataclass(frozen=True, kw_only=True)
class Example:
    """Options of a component, and the checks that must fail with them, each with its reason.

    A check is named as conformance reports it. An expected failure that passes is told as a fault.

    Raises: InvalidSpec for options that are no mapping from names, or a failure without a reason.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    expected_failures: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _named("options", self.options))
        failures = _named("expected failures", self.expected_failures)
        for name, reason in failures.items():
            if not isinstance(reason, str) or not reason.strip():
                raise InvalidSpec(
                    f"the expected failure {name!r} of an example needs a reason, as text, not "
                    f"{reason!r:.80}"
                )
        object.__setattr__(self, "expected_failures", failures)


def _named(what: str, given: object) -> dict[str, Any]:
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return dict(given)
    raise InvalidSpec(f"the {what} of an example are a mapping from names, not {given!r:.80}")
