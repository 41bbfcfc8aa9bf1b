"""The checks as tests of a plugin's own: one pytest test a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from registry.conformance.errors import CheckFailed
from registry.conformance.running import Suite
from registry.spec import Kind


def parametrize(
    kind: Kind | str,
    target: str | type,
    options: Mapping[str, Any] | None = None,
    expected_failures: Mapping[str, str] | None = None,
) -> Callable[[Any], Any]:
    """Decorate a test that takes `check`, to be run once for each check of the kind:

        @conformance.parametrize("norm", DynamicTanh)
        def test_conformance(check):
            check()

    A check that is not applicable is skipped with its reason; an expected failure is a strict
    xfail. A last test, `enough_checks_ran`, fails when fewer ran than the kind needs. Pytest is
    imported here, by the tests that use it alone.

    Raises: as `check_component`.
    """
    import pytest

    suite = Suite(kind, target, options=options, expected_failures=expected_failures)
    cases = [
        pytest.param(
            _Case(suite, name),
            id=name,
            marks=[pytest.mark.xfail(reason=suite.expected[name], strict=True, raises=CheckFailed)]
            if name in suite.expected
            else [],
        )
        for name in suite.checks
    ]
    enough = pytest.param(_Enough(suite), id="enough_checks_ran")
    decorator: Callable[[Any], Any] = pytest.mark.parametrize("check", [*cases, enough])
    return decorator


class _Case:
    """Runs one check."""

    def __init__(self, suite: Suite, name: str) -> None:
        self.suite = suite
        self.name = name

    def __call__(self) -> None:
        """Raise what the check found. Raises: CheckFailed; skips what is not applicable."""
        import pytest

        __tracebackhide__ = True
        result = self.suite.result(self.name)
        if result.outcome == "not applicable":
            pytest.skip(result.message)
        if result.failed:
            raise CheckFailed(result.message)


class _Enough:
    """Counts the checks that ran."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite

    def __call__(self) -> None:
        """Run what has not run yet. Raises: CheckFailed when too few did."""
        __tracebackhide__ = True
        too_few = self.suite.report().too_few
        if too_few:
            raise CheckFailed(too_few)
