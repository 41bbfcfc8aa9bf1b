"""Registered components held to their contracts: what `check` prints.

Each runs in a worker process: a component that dies or hangs costs its own checks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ablations.executors.local import Local
from ablations.machine import memory_share
from ablations.strangers import strangers_of
from registry.catalog import Catalog, full_name
from registry.conformance.report import MUST_HOLD, counted, not_run
from registry.contracts import Execution, Outcome
from registry.errors import UnknownName, nearest
from registry.examples import Example
from registry.spec import ComponentSpec, plain

TIMEOUT = 120.0
"""Seconds after which the checks of one component are given up."""


@dataclass(frozen=True, kw_only=True)
class Try:
    """A component with the options of one of its examples; plain, so that it travels."""

    place: tuple[int, int]
    spec: ComponentSpec
    example: Example

    @property
    def strangers(self) -> frozenset[str]:
        """Whose code this try runs beside this project's own."""
        return strangers_of([self.spec.reference])


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What came of a component: its checks, of every example, and how many ran at least."""

    kind: str
    name: str
    passed: bool
    checks: tuple[dict[str, str], ...]
    n_run: int

    @property
    def document(self) -> dict[str, Any]:
        """As `check --json` prints it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "passed": self.passed,
            "checks": list(self.checks),
        }

    @property
    def text(self) -> str:
        """A heading, and a line for each check that did not simply pass."""
        state = "passed" if self.passed else "FAILED"
        lines = [f"{self.kind} {self.name}: {state}, {counted(self.n_run)} ran"]
        for check in self.checks:
            if check["outcome"] != "passed" and not check["message"].endswith(MUST_HOLD):
                lines.append(f"  {check['outcome']}: {check['name']}: {check['message']}")
        lines += [f"  {line}" for line in not_run(check["message"] for check in self.checks)]
        return "\n".join(lines)


def chosen(catalog: Catalog, names: Sequence[str]) -> tuple[ComponentSpec, ...]:
    """The components of those names, of whatever kind; all of them without names.

    A name is `name` or `distribution/name`. Raises: UnknownName.
    """
    specs = tuple(catalog.components())
    if not names:
        return specs
    found: dict[int, ComponentSpec] = {}
    for name in names:
        alike = {
            place: spec for place, spec in enumerate(specs) if name in (spec.name, full_name(spec))
        }
        if not alike:
            known = [spec.name for spec in specs]
            raise UnknownName(f"no component is named {name!r}; {nearest(name, known)}")
        found |= alike
    return tuple(found[place] for place in sorted(found))


def check(specs: Sequence[ComponentSpec], *, workers: int) -> tuple[Checked, ...]:
    """Run every check of every example of the components, in their order."""
    tries = [
        Try(place=(i, j), spec=spec, example=example)
        for i, spec in enumerate(specs)
        for j, example in enumerate(spec.examples or (Example(),))
    ]
    workers = max(1, min(workers, len(tries)))
    execution = Execution(workers=workers, timeout=TIMEOUT, memory=memory_share(workers))
    found: dict[tuple[int, int], Any] = {}
    outcomes: Any = Local().execute(iter(tries), examine, execution)
    with closing(outcomes):
        for outcome in outcomes:
            found[outcome.trial.place] = outcome
    return tuple(
        _checked(spec, [found[place] for place in sorted(found) if place[0] == i])
        for i, spec in enumerate(specs)
    )


def examine(one: Try) -> Any:
    """The report of one try, in a worker."""
    from registry.conformance import check_component

    return check_component(
        one.spec.kind,
        one.spec.reference,
        options=one.example.options,
        expected_failures=one.example.expected_failures,
    )


def _checked(spec: ComponentSpec, outcomes: Sequence[Outcome]) -> Checked:
    checks: list[dict[str, str]] = []
    passed, n_run = True, 0
    for outcome in outcomes:
        options = outcome.trial.example.options
        told = ", ".join(f"{name}={plain(value)}" for name, value in options.items())
        with_options = f" ({told})" if told else ""
        if outcome.state != "done":
            passed = False
            message = f"the checks {outcome.state}: {outcome.message}"
            checks.append(_row(f"all{with_options}", "failed", message))
            continue
        report = outcome.result
        checks += [_row(r.name + with_options, r.outcome, r.message) for r in report.results]
        if report.too_few and not any(r.bad for r in report.results):
            checks.append(_row(f"enough checks{with_options}", "failed", report.too_few))
        passed, n_run = passed and report.passed, n_run + report.n_run
    return Checked(
        kind=str(spec.kind), name=spec.name, passed=passed, checks=tuple(checks), n_run=n_run
    )


def _row(name: str, outcome: str, message: str) -> dict[str, str]:
    return {"name": name, "outcome": outcome, "message": message}


def summary(checked: Sequence[Checked]) -> str:
    """How many components and checks there were, and which failed."""
    failed = [f"{one.kind} {one.name}" for one in checked if not one.passed]
    ran = sum(one.n_run for one in checked)
    components = "1 component" if len(checked) == 1 else f"{len(checked)} components"
    head = f"{components}, {counted(ran)} ran"
    return f"{head}, failed: {', '.join(failed)}" if failed else f"{head}, all passed"
