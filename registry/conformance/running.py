"""Runs the checks of a component, each on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from registry.checks import check_word
from registry.conformance.battery import Check, checks_of
from registry.conformance.errors import CheckFailed, NotApplicable, Refused
from registry.conformance.global_state import isolated
from registry.conformance.raising import raised
from registry.conformance.report import MUST_HOLD, Report, Result
from registry.conformance.subject import Subject
from registry.contracts import Dims
from registry.errors import InvalidSpec, UnknownName, nearest
from registry.examples import Example
from registry.options import check_options
from registry.spec import ComponentSpec, Kind


def check_component(
    kind: Kind | str,
    target: str | type,
    *,
    options: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
    dims: Dims | None = None,
) -> Report:
    """Hold a component to every contract of its kind.

    `target` is a class, or `"module:Class"`. Without `options` it is built with its defaults, and
    with values found from their annotations for required ones. `expected_failures` gives, by the
    names of checks, the reasons why they must fail; one of them that passes fails the report.
    `dims` are those of a model, for a component that serves none of the small sizes tried first.

    The component is built alone, among stand-ins for its neighbours, with every parameter random.
    Global random states and settings of torch are left as they were.

    Raises: InvalidSpec for an unknown kind; InvalidOptions for options that it does not have;
    UnknownName for an expected failure that is no check of that kind. What the component itself
    does wrong is in the report, never raised.
    """
    suite = Suite(kind, target, options=options, expected_failures=expected_failures, dims=dims)
    return suite.report()


def check_spec(spec: ComponentSpec) -> tuple[Report, ...]:
    """A report for each of a registered component's examples, or for its defaults if it has none.

    Raises: as `check_component`, for what an example says.
    """
    return tuple(
        replace(
            check_component(
                spec.kind,
                spec.reference,
                options=example.options,
                expected_failures=example.expected_failures,
            ),
            name=spec.name,
        )
        for example in spec.examples or (Example(),)
    )


class Suite:
    """The checks of one component with one set of options; each runs once, when asked for."""

    def __init__(
        self,
        kind: Kind | str,
        target: str | type,
        *,
        options: Mapping[str, Any] | None = None,
        expected_failures: Mapping[str, str] | None = None,
        dims: Dims | None = None,
    ) -> None:
        check_word(kind, tuple(Kind), "kind of a component")
        self.kind = Kind(kind)
        self.checks = {check.name: check for check in checks_of(self.kind)}
        self.expected = dict(expected_failures or {})
        for name in self.expected:
            if name not in self.checks:
                raise UnknownName(
                    f"no check of a {self.kind} is named {name!r}; {nearest(name, self.checks)}"
                )
        self.subject = Subject(self.kind, target, options or {}, dims)
        self._results: dict[str, Result] = {}

    def report(self) -> Report:
        """Every result. Raises: InvalidOptions for options that the component does not have."""
        self._check_given_options()
        results = tuple(map(self.result, self.checks))
        found = self.subject.target
        name = found.partition(":")[2] if isinstance(found, str) else found.__qualname__
        try:
            options = self.subject.given
        except (CheckFailed, InvalidSpec):
            options = self.subject.options
        return Report(kind=self.kind, name=name, options=options, results=results)

    def result(self, name: str) -> Result:
        """The result of one check, after the foundations that it stands on."""
        if name not in self._results:
            self._results[name] = self._run(self.checks[name])
        return self._results[name]

    def _run(self, check: Check) -> Result:
        for other in self.checks.values():
            if other is check:
                break
            needed = other.foundation or (check.comparing and other.name == "determinism")
            if needed and self.result(other.name).failed:
                message = f"{other.name}{MUST_HOLD}"
                return Result(name=check.name, outcome="not applicable", message=message)
        try:
            with isolated():
                note = check.function(self.subject)
        except NotApplicable as reason:
            return Result(name=check.name, outcome="not applicable", message=str(reason))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a stranger's component may even call sys.exit
            said = isinstance(error, (CheckFailed, Refused))
            message = str(error) if said else f"it {raised(error)}"
            if check.name in self.expected:
                message = f"{self.expected[check.name]} ({message})"
                return Result(name=check.name, outcome="expected failure", message=message)
            return Result(name=check.name, outcome="failed", message=message)
        if check.name in self.expected:
            message = f"expected to fail, as {self.expected[check.name]}: take it off the list"
            return Result(name=check.name, outcome="unexpected pass", message=message)
        return Result(name=check.name, outcome="passed", message=note or "")

    def _check_given_options(self) -> None:
        """Refuse options that the caller should not have given."""
        try:
            signature = self.subject.signature
        except InvalidSpec:
            return
        given = self.subject.options
        required = tuple(o for o in signature.options if o.name in given or not o.required)
        name = f"{self.kind} {self.subject.cls.__name__!r}"
        try:
            check_options(name, replace(signature, options=required), given)
        except InvalidSpec:
            return
