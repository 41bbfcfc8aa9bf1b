"""What conformance found: one result a check, and whether that is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from registry.spec import Kind, plain

Outcome = Literal["passed", "failed", "not applicable", "expected failure", "unexpected pass"]

MUST_HOLD = " must hold first"
"""How the message of a check ends that did not run, since the one it names failed."""

MINIMUM: Mapping[Kind, int] = {
    Kind.NORM: 17,
    Kind.ACTIVATION: 17,
    Kind.FEED_FORWARD: 16,
    Kind.ATTENTION: 17,
    Kind.POSITION: 6,
    Kind.RESIDUAL: 17,
    Kind.PLACEMENT: 20,
    Kind.INITIALIZER: 5,
}
"""The fewest checks that run for a component of each kind, if it has nothing that is optional."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One check of one component, and in one line what it found or why it did not look."""

    name: str
    outcome: Outcome
    message: str = ""

    @property
    def ran(self) -> bool:
        """Whether there was something to check."""
        return self.outcome != "not applicable"

    @property
    def failed(self) -> bool:
        """Whether the contract does not hold, expected or not."""
        return self.outcome in ("failed", "expected failure")

    @property
    def bad(self) -> bool:
        """Whether it keeps the component from passing: an unexpected pass does too."""
        return self.outcome in ("failed", "unexpected pass")


@dataclass(frozen=True, kw_only=True)
class Report:
    """Every check of one component with one set of options (those given, and required ones)."""

    kind: Kind
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[Result, ...] = ()

    @property
    def n_run(self) -> int:
        """How many checks ran, whatever came of them."""
        return sum(result.ran for result in self.results)

    @property
    def minimum(self) -> int:
        """The fewest that must have run."""
        return MINIMUM[self.kind]

    @property
    def too_few(self) -> str:
        """What is said where fewer ran; empty where enough did."""
        if self.n_run >= self.minimum:
            return ""
        return f"{self.n_run} checks ran, fewer than the {self.minimum} of its kind"

    @property
    def passed(self) -> bool:
        """Whether none failed or passed against what was expected, and enough ran."""
        return not any(result.bad for result in self.results) and not self.too_few

    @property
    def leaks(self) -> bool:
        """Whether the causality check failed, expected or not: its loss is no evidence."""
        return any(result.name == "causality" and result.failed for result in self.results)

    def text(self) -> str:
        """For a person: a heading, and a line for each check that did not simply pass."""
        options = ", ".join(f"{name}={plain(value)}" for name, value in self.options.items())
        name = f"{self.name}({options})" if options else self.name
        state = "passed" if self.passed else "FAILED"
        heading = f"{self.kind} {name}: {state}, {self.too_few or f'{self.n_run} checks ran'}"
        lines = [
            f"  {result.outcome}: {result.name}: {result.message}"
            for result in self.results
            if result.outcome != "passed"
        ]
        return "\n".join([heading, *lines])


def not_run(messages: Iterable[str]) -> list[str]:
    """How many checks did not run, since one that must hold first failed: `not run, as …`."""
    waiting = Counter(m.removesuffix(MUST_HOLD) for m in messages if m.endswith(MUST_HOLD))
    return [f"not run, as {name} failed: {counted(n)}" for name, n in waiting.items()]


def counted(n: int) -> str:
    """`1 check`, `17 checks`."""
    return "1 check" if n == 1 else f"{n:,} checks"
