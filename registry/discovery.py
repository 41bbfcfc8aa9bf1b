"""Plugins, one by one: what a broken one breaks is its own record, nothing else."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from packaging.utils import canonicalize_name

from registry import local_plugins
from registry.catalog import Catalog
from registry.clashes import BUILTIN, failed, refuse_clashes
from registry.errors import InvalidSpec, PluginError, describe
from registry.hookspecs import ENTRY_POINT_GROUP
from registry.local_plugins import LocalPlugin
from registry.plugin_hooks import collect
from registry.records import LeftOut, PluginRecord
from registry.selection import Selection
from registry.spec import Provenance


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


def discover(
    entry_points: Iterable[EntryPoint] | None = None,
    *,
    plugins: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Catalog:
    """Load every installed plugin of the entry point group `ablations`, sorted, into a catalog.

    A plugin that fails to import, was made for another `API_VERSION`, implements an unknown hook,
    raises in a hook, returns something else than its specs, registers nothing, or takes a name
    that is not free is recorded with the reason and contributes nothing.

    `ABLATIONS_PLUGINS=name,name` of the environment lets these alone load beside the built-ins,
    `ABLATIONS_NO_PLUGINS=1` none; the others are not imported. `plugins` are loaded in any case:
    modules, .py files or packages' folders that need not be installed, see `with_plugins`.

    Raises: InvalidSelection, PluginError.
    """
    if entry_points is None:
        entry_points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    selection = Selection.of(os.environ if environment is None else environment)
    found = sorted(
        ((_provenance(point), point) for point in entry_points),
        key=lambda pair: (pair[0].distribution, pair[0].entry_point),
    )
    selection.check(provenance for provenance, _ in found)
    records: list[PluginRecord] = []
    left_out: list[LeftOut] = []
    for provenance, point in found:
        name = f"{provenance.distribution}:{point.name}"
        if selection.loads(provenance):
            records.append(_installed(name, provenance, point.load, records))
        else:
            left_out.append(LeftOut(name=name, version=provenance.version, by=selection.by))
    return with_plugins(Catalog(refuse_clashes(records), left_out), plugins)


def with_plugins(catalog: Catalog, asked: Sequence[str], base: Path | None = None) -> Catalog:
    """A catalog with more plugins: each a module's name or a path, relative to `base`.

    They register by the same hooks as installed ones, under the name of their module and, as
    their version, its `__version__`. One that is there already counts once.

    Raises: PluginError with the reason for each that cannot be used.
    """
    if not asked:
        return catalog
    asked = list(dict.fromkeys(asked))
    records = list(catalog.plugins)
    before = frozenset(sys.modules)
    located: list[LocalPlugin] = []
    findings: dict[str, str] = {}
    places: dict[str, int] = {}
    for name in asked:
        try:
            located.append(local_plugins.locate(name, base or Path.cwd()))
            places[name] = _add(records, located[-1])
        except InvalidSpec as error:
            findings[name] = str(error)
    records = refuse_clashes(records)
    for name, place in places.items():
        if records[place].state == "failed":
            findings[name] = records[place].message
    if findings:
        for local in located:
            local_plugins.forget(local, kept=before)  # so that an edit is read anew
        raise PluginError((name, findings[name]) for name in asked if name in findings)
    return Catalog(records, catalog.left_out)


def _add(records: list[PluginRecord], local: LocalPlugin) -> int:
    """Load a plugin beside those that are there; returns its place. Raises: InvalidSpec."""
    if canonicalize_name(local.module) == BUILTIN:
        raise InvalidSpec(f"{local.module!r} is this tool's own name: give it another one")
    local_plugins.make_ready(local)
    try:
        module = importlib.import_module(local.module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidSpec(f"import failed: {describe(error)}") from error
    for place, known in enumerate(records):
        if known.plugin is module:
            records[place] = replace(known, asked=True, path=known.path or local.path)
            return place
    version = getattr(module, "__version__", "")
    provenance = Provenance(
        distribution=local.module,
        version=version if isinstance(version, str) and version.isprintable() else "",
        home=local.home,
    )
    record = _registered(local.module, provenance, module)
    records.append(replace(record, asked=True, path=local.path))
    return len(records) - 1


def _provenance(point: EntryPoint) -> Provenance:
    """Where an entry point comes from; one that belongs to no distribution stands for itself."""
    try:
        name, version = point.dist.name or point.name, point.dist.version or ""
    except Exception:  # no distribution, or one whose metadata are damaged
        name, version = point.name, ""
    return Provenance(distribution=name, version=version, entry_point=point.name)


def _installed(
    name: str, provenance: Provenance, load: Callable[[], Any], loaded: Iterable[PluginRecord]
) -> PluginRecord:
    """What becomes of an entry point, those before it having been loaded."""
    record = PluginRecord(name=name, version=provenance.version, state="loaded")
    try:
        plugin = load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may even call sys.exit while it is imported
        return failed(record, f"import failed: {describe(error)}")
    for other in loaded:
        if other.plugin is plugin:
            return failed(record, f"is the same plugin as {other.name}")
    return _registered(name, provenance, plugin)


def _registered(name: str, provenance: Provenance, plugin: Any) -> PluginRecord:
    """What a plugin registers, or why it cannot be used."""
    record = PluginRecord(name=name, version=provenance.version, state="loaded", plugin=plugin)
    try:
        specs, follows = collect(plugin)
        specs = tuple(replace(spec, provenance=provenance) for spec in specs)
        return replace(record, specs=specs, follows=follows)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return failed(record, describe(error))
