"""What a plugin's hooks register: every implementation called once, its return checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pluggy

from registry import hookspecs
from registry.errors import InvalidSpec, describe, nearest
from registry.hookspecs import API_VERSION
from registry.spec import ComponentSpec, ExecutorSpec, MeasureSpec, Spec

HOOKS: Mapping[str, type[Spec]] = {
    "register_components": ComponentSpec,
    "register_measures": MeasureSpec,
    "register_executors": ExecutorSpec,
}
"""What an implementation of each hook returns a list of."""

FOLLOWING = ("run_started", "trial_finished", "run_finished")
"""The hooks that follow a run; a plugin may implement them alone."""


def collect(plugin: Any) -> tuple[tuple[Spec, ...], dict[str, Callable[..., Any]]]:
    """What the plugin's hooks register, and those that follow a run, by name.

    A manager of its own keeps the implementations of all others out.

    Raises: InvalidSpec with the reason for which the plugin cannot be used.
    """
    version = getattr(plugin, "ablations_api", API_VERSION)
    if version != API_VERSION:
        raise InvalidSpec(
            f"is made for version {version!r} of the plugin interface, not {API_VERSION}: "
            "install a version of it, or of ablations, that fits the other"
        )
    known = (*HOOKS, *FOLLOWING)
    manager = pluggy.PluginManager("ablations")
    manager.add_hookspecs(hookspecs)
    manager.register(plugin)
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        optional = all(implementation.optionalhook for implementation in caller.get_hookimpls())
        if not caller.has_spec() and not optional:
            raise InvalidSpec(f"unknown hook {caller.name!r}; {nearest(caller.name, known)}")
    if not any(caller.has_spec() for caller in callers):
        raise InvalidSpec(f"implements no hook (with @hookimpl); hooks: {', '.join(known)}")
    found = [
        spec
        for hook, expected in HOOKS.items()
        for implementation in getattr(manager.hook, hook).get_hookimpls()
        for spec in _returned(hook, implementation.function, expected)
    ]
    follows: dict[str, Callable[..., Any]] = {
        caller.name: caller for caller in callers if caller.name in FOLLOWING
    }
    if not found and not follows:
        raise InvalidSpec("registers nothing")
    keys = [(spec.slot, spec.name) for spec in found]
    twice = sorted({f"{slot} {name!r}" for slot, name in keys if keys.count((slot, name)) > 1})
    if twice:
        raise InvalidSpec(f"registers {', '.join(twice)} twice")
    return tuple(found), follows


def _returned(hook: str, function: Any, expected: type[Spec]) -> list[Spec]:
    try:
        returned = function()
        listed = not isinstance(returned, (str, bytes, Mapping)) and isinstance(returned, Iterable)
        specs = list(returned) if listed else []
    except KeyboardInterrupt:
        raise
    except InvalidSpec as error:
        raise InvalidSpec(f"hook {hook!r}: {error}") from error
    except BaseException as error:
        raise InvalidSpec(f"hook {hook!r} raised {describe(error)}") from error
    if not listed:
        raise InvalidSpec(
            f"hook {hook!r} must return a list of {expected.__name__}, not {returned!r:.80}"
        )
    for spec in specs:
        if not isinstance(spec, expected):
            raise InvalidSpec(
                f"hook {hook!r} must return a list of {expected.__name__}; "
                f"{spec!r:.80} is among what it returns"
            )
    return specs
