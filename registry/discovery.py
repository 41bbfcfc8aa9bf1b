"""Entry points, one by one: what a broken plugin breaks is its own record, nothing else."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import pluggy
from packaging.utils import canonicalize_name

from registry import hookspecs
from registry.catalog import Catalog
from registry.errors import InvalidSpec, describe, nearest
from registry.hookspecs import API_VERSION, ENTRY_POINT_GROUP
from registry.spec import (
    ComponentSpec,
    ExecutorSpec,
    MeasureSpec,
    PluginRecord,
    Provenance,
    Spec,
)

BUILTIN = "ablations"
"""The distribution whose names no other may take."""

HOOKS: Mapping[str, type[Spec]] = {
    "register_components": ComponentSpec,
    "register_measures": MeasureSpec,
    "register_executors": ExecutorSpec,
}
"""What an implementation of each hook returns a list of."""


class EntryPoint(Protocol):
    """The part of `importlib.metadata.EntryPoint` that discovery uses."""

    @property
    def name(self) -> str:
        """The key in the entry point group."""
        ...

    @property
    def dist(self) -> Any:
        """The distribution, with `name` and `version`; None for what belongs to none."""
        ...

    def load(self) -> Any:
        """Import the plugin."""
        ...


def discover(entry_points: Iterable[EntryPoint] | None = None) -> Catalog:
    """Load every installed plugin of the entry point group `ablations`, sorted, into a catalog.

    A plugin that fails to import, was made for another `API_VERSION`, implements an unknown hook,
    raises in a hook, returns something else than its specs, registers nothing, or takes a name
    that is not free is recorded with the reason and contributes nothing.
    """
    if entry_points is None:
        entry_points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    loaded: list[tuple[Any, str]] = []
    records = [
        _record(point, provenance, loaded)
        for provenance, point in sorted(
            ((_provenance(point), point) for point in entry_points),
            key=lambda pair: (pair[0].distribution, pair[0].entry_point),
        )
    ]
    return Catalog(_refuse_taken_names(_refuse_clashes_within(records)))


def _provenance(point: EntryPoint) -> Provenance:
    """Where an entry point comes from; one that belongs to no distribution stands for itself."""
    try:
        name, version = point.dist.name or point.name, point.dist.version or ""
    except Exception:  # no distribution, or one whose metadata are damaged
        name, version = point.name, ""
    return Provenance(distribution=name, version=version, entry_point=point.name)


def _record(
    point: EntryPoint, provenance: Provenance, loaded: list[tuple[Any, str]]
) -> PluginRecord:
    name = f"{provenance.distribution}:{point.name}"
    record = PluginRecord(name=name, version=provenance.version, state="loaded")
    try:
        plugin = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may even call sys.exit while it is imported
        return _failed(record, f"import failed: {describe(error)}")
    for other, its_name in loaded:
        if other is plugin:
            return _failed(record, f"is the same plugin as {its_name}")
    loaded.append((plugin, name))
    try:
        specs = _collect(plugin)
        return replace(record, specs=tuple(replace(spec, provenance=provenance) for spec in specs))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _failed(record, describe(error))


def _collect(plugin: Any) -> list[Spec]:
    """Call the plugin's hook implementations; a manager of its own keeps all others out."""
    version = getattr(plugin, "ablations_api", API_VERSION)
    if version != API_VERSION:
        raise InvalidSpec(
            f"is made for version {version!r} of the plugin interface, not {API_VERSION}: "
            "install a version of it, or of ablations, that fits the other"
        )
    manager = pluggy.PluginManager("ablations")
    manager.add_hookspecs(hookspecs)
    manager.register(plugin)
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        optional = all(implementation.optionalhook for implementation in caller.get_hookimpls())
        if not caller.has_spec() and not optional:
            raise InvalidSpec(f"unknown hook {caller.name!r}; {nearest(caller.name, HOOKS)}")
    if not any(caller.has_spec() for caller in callers):
        raise InvalidSpec(f"implements no hook (with @hookimpl); hooks: {', '.join(HOOKS)}")
    found = [
        spec
        for hook, expected in HOOKS.items()
        for implementation in getattr(manager.hook, hook).get_hookimpls()
        for spec in _returned(hook, implementation.function, expected)
    ]
    if not found:
        raise InvalidSpec("registers nothing")
    keys = [(spec.slot, spec.name) for spec in found]
    twice = sorted({f"{slot} {name!r}" for slot, name in keys if keys.count((slot, name)) > 1})
    if twice:
        raise InvalidSpec(f"registers {', '.join(twice)} twice")
    return found


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


def _failed(record: PluginRecord, message: str) -> PluginRecord:
    return replace(record, state="failed", message=message, specs=())


def _refuse_clashes_within(records: list[PluginRecord]) -> list[PluginRecord]:
    """Fail the plugins of one distribution that share a name: nothing could tell them apart."""
    owners: dict[tuple[str, str, str], list[str]] = {}
    for record in records:
        for spec in record.specs:
            owners.setdefault(_full_name(spec), []).append(record.name)
    kept = []
    for record in records:
        clashes = [
            f"{spec.slot} {spec.name!r} is registered by {' and by '.join(names)}"
            for spec in record.specs
            if len(names := owners[_full_name(spec)]) > 1
        ]
        kept.append(_failed(record, "; ".join(clashes)) if clashes else record)
    return kept


def _refuse_taken_names(records: list[PluginRecord]) -> list[PluginRecord]:
    """A stranger's entry may not take a built-in's name: every default would become ambiguous."""
    taken = {
        (slot, name)
        for record in records
        for distribution, slot, name in map(_full_name, record.specs)
        if distribution == BUILTIN
    }
    kept = []
    for record in records:
        clashes = [
            f"{slot} {name!r} is built in: choose another name"
            for distribution, slot, name in map(_full_name, record.specs)
            if distribution != BUILTIN and (slot, name) in taken
        ]
        kept.append(_failed(record, "; ".join(clashes)) if clashes else record)
    return kept


def _full_name(spec: Spec) -> tuple[str, str, str]:
    return canonicalize_name(spec.provenance.distribution), spec.slot, spec.name
