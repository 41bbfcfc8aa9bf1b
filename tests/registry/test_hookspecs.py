from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from typing import Any

import pluggy

from registry import hookspecs
from registry.discovery import HOOKS


def hooks() -> dict[str, Callable[..., Any]]:
    """The hooks as pluggy sees them."""
    manager = pluggy.PluginManager("ablations")
    manager.add_hookspecs(hookspecs)
    return {name: getattr(hookspecs, name) for name in vars(manager.hook) if name[0] != "_"}


def test_discovery_knows_every_hook_and_what_it_returns() -> None:
    found = {name: typing.get_type_hints(function) for name, function in hooks().items()}
    assert found == {name: {"return": Iterable[spec]} for name, spec in HOOKS.items()}  # type: ignore[valid-type]


def test_every_hook_says_what_to_return() -> None:
    found = hooks()
    assert found.keys() == HOOKS.keys()
    for name, function in found.items():
        assert function.__doc__ == (
            f"Return the {name.removeprefix('register_')} that this plugin offers."
        )
