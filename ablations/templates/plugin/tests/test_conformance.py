"""The contracts of its kind, a test each."""

from collections.abc import Callable

from registry import conformance

TARGET = "my_component:MyComponent"


@conformance.parametrize("MY_KIND", TARGET)
def test_conformance(check: Callable[[], None]) -> None:
    """A check that does not apply is skipped."""
    check()
