from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pluggy

from registry import RunInfo, TrialInfo, hookspecs
from registry.plugin_hooks import FOLLOWING, HOOKS


def hooks() -> dict[str, Callable[..., Any]]:
    """The hooks as pluggy sees them."""
    manager = pluggy.PluginManager("ablations")
    manager.add_hookspecs(hookspecs)
    return {name: getattr(hookspecs, name) for name in vars(manager.hook) if name[0] != "_"}


def test_discovery_knows_every_hook_and_what_it_returns() -> None:
    found = {name: typing.get_type_hints(function) for name, function in hooks().items()}
    returned = {name: {"return": Iterable[spec]} for name, spec in HOOKS.items()}  # type: ignore[valid-type]
    followed = {
        "run_started": {"run": RunInfo, "return": bool | None},
        "trial_finished": {"run": RunInfo, "trial": TrialInfo, "return": type(None)},
        "run_finished": {"run": RunInfo, "trials": Sequence[TrialInfo], "return": type(None)},
    }
    assert found == returned | followed
    assert tuple(followed) == FOLLOWING


def test_every_hook_says_what_to_return() -> None:
    found = hooks()
    for name in HOOKS:
        assert found[name].__doc__ == (
            f"Return the {name.removeprefix('register_')} that this plugin offers."
        )
    for name in FOLLOWING:
        assert str(found[name].__doc__).startswith("Hear ")
