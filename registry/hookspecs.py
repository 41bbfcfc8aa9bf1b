"""The hooks that a plugin may implement; each is optional and each returns a list of specs.

A plugin may state which version of this interface it was written for with an attribute
`ablations_api = 1`; one that states another than `API_VERSION` is not loaded.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from registry.spec import ComponentSpec, ExecutorSpec, MeasureSpec

API_VERSION = 1
"""Raised by a change of hooks, specs or contracts that breaks a plugin."""

ENTRY_POINT_GROUP = "ablations"

hookspec = pluggy.HookspecMarker("ablations")
hookimpl = pluggy.HookimplMarker("ablations")


@hookspec
def register_components() -> Iterable[ComponentSpec]:  # type: ignore[empty-body]
    """Return the components that this plugin offers."""


@hookspec
def register_measures() -> Iterable[MeasureSpec]:  # type: ignore[empty-body]
    """Return the measures that this plugin offers."""


@hookspec
def register_executors() -> Iterable[ExecutorSpec]:  # type: ignore[empty-body]
    """Return the executors that this plugin offers."""
