"""Entry points and plugins made up for tests; nothing of them is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from registry import Catalog, ComponentSpec, discover, hookimpl


class Thing:
    """A component without options."""

    def __init__(self, dims: object) -> None: ...


@dataclass(frozen=True)
class FakeEntryPoint:
    """An entry point of a distribution that is not there; `load` is called as the real one is."""

    load: Callable[[], Any]
    name: str = "plugin"
    distribution: str = "dyt"
    version: str = "1.0"

    @property
    def dist(self) -> Any:
        """The distribution's metadata."""
        return SimpleNamespace(name=self.distribution, version=self.version)


def norm(name: str, target: str | type = Thing) -> ComponentSpec:
    """A norm of that name."""
    return ComponentSpec(kind="norm", name=name, target=target)


def plugin(*specs: Any) -> Any:
    """A plugin whose one hook returns these components."""
    return plugin_of(lambda: list(specs))


def plugin_of(function: Callable[[], Any], hook: str = "register_components") -> Any:
    """A plugin that implements a hook by that function."""
    return SimpleNamespace(**{hook: hookimpl(function)})


def entry(made: Any, distribution: str = "dyt", name: str = "plugin") -> FakeEntryPoint:
    """An entry point that loads that plugin."""
    return FakeEntryPoint(lambda: made, name=name, distribution=distribution)


def found(*points: Any) -> Catalog:
    """What discovery makes of these entry points."""
    return discover(points)


def outcomes(catalog: Catalog) -> dict[str, tuple[str, Sequence[str]]]:
    """Each plugin's name, its message, and the names that it registered."""
    return {
        record.name: (record.message, [spec.name for spec in record.specs])
        for record in catalog.plugins
    }
