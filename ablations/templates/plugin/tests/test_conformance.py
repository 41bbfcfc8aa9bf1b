"""The contracts of its kind, a test each."""

from collections.abc import Callable

from registry import conformance


@conformance.parametrize("MY_KIND", "my_component:MyComponent")
def test_conformance(check: Callable[[], None]) -> None:
    """A check that does not apply is skipped."""
    check()
