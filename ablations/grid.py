"""A grid file, read whole: every fault at once, each with its line, column and nearest name."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from ablations.design import MAX_CELLS, count, level_faults
from ablations.document import DataPath, Document, Fault, from_mapping, read, show
from ablations.resolution import (
    PARTS,
    Faulty,
    Resolver,
    Setting,
    canonical_json,
    entries,
    entry,
    label,
    plain,
    settings,
    with_part,
)
from ablations.schema import COMPONENT_KINDS, GridFile, Model, file_faults
from registry.catalog import Catalog
from registry.discovery import discover
from registry.errors import RegistryError, nearest
from registry.spec import Choice, ComponentSpec, MeasureSpec

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Level:
    """A value that a factor takes, as written, and its label, unique in the factor."""

    label: str
    value: Any


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What varies: a key of the model or an option of a component, or an option of a measure."""

    name: str
    levels: tuple[Level, ...]
    scope: Literal["model", "measure"]


@dataclass(frozen=True, kw_only=True)
class AskedMeasure:
    """A measure that the grid asks for, with its options."""

    spec: MeasureSpec
    choice: Choice


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Cells that are left out, by the labels of some factors' levels, and why."""

    when: Mapping[str, str]
    because: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A validated grid. `model` holds every key as written or at its default."""

    name: str
    model: Mapping[str, Any]
    factors: tuple[Factor, ...]
    baseline: Mapping[str, str]
    seeds: tuple[int, ...]
    measures: tuple[AskedMeasure, ...]
    design: Literal["full"]
    exclude: tuple[Exclusion, ...]
    requires: tuple[str, ...]
    device: str
    dtype: str
    timeout: float | None
    threads: int
    document: Document = field(repr=False, compare=False)
    setting_rows: tuple[Setting, ...] = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The grid's YAML: the file's own, or written out from a mapping."""
        return self.document.text

    def settings(self) -> tuple[Setting, ...]:
        """Every value of the model as a person reads it, and where it comes from."""
        return self.setting_rows


def load_grid(
    source: str | os.PathLike[str] | Mapping[str, Any], catalog: Catalog | None = None
) -> Grid:
    """Read and validate a grid, from a file or from a mapping of the same form.

    Raises: GridError with every finding; of syntax errors in YAML the first.
    """
    document = from_mapping(source) if isinstance(source, Mapping) else read(source)
    return _Reading(document, discover() if catalog is None else catalog).grid()


Scope = Literal["model", "measure"]
Taker = tuple[ComponentSpec | MeasureSpec, dict[str, Any]]
"""Who takes an option, with options that it has somewhere in the grid."""

_STATIC_BLIND = ("initializer", "embedding_scale", "dropout")
"""Keys that shapes do not depend on."""


class _Reading:
    """One pass over a document; each step adds its faults and goes on with what is sound."""

    def __init__(self, document: Document, catalog: Catalog) -> None:
        self.document = document
        self.catalog = catalog
        self.resolver = Resolver(catalog)
        self.faults = file_faults(document.data)
        self.data = _without(document.data, [fault.path for fault in self.faults])
        self.given: dict[str, Any] = self.data.get("model", {})
        self.levels: dict[str, list[Any]] = self.data.get("factors", {})
        self.asked: dict[str, tuple[MeasureSpec, dict[str, Any]]] = {}
        self.inside: dict[str, DataPath] = {}
        """Where the options of a measure stand."""
        self.scopes: dict[str, Scope] = {}
        self.takers: dict[str, list[Taker]] = {}
        self.canonical: dict[str, list[str | None]] = {}
        """Of each factor's levels; None where one is faulty."""

    def grid(self) -> Grid:
        """The grid. Raises: GridError."""
        measures = self._measures()
        for key in COMPONENT_KINDS:
            if key in self.given:
                self._attempt(("model", key), partial(self._component, key, self.given[key]))
        for name in self.levels:
            scope = self._scope(name)
            if scope is not None:
                self.scopes[name] = scope
                self.takers[name] = self._takers(name)
                self.canonical[name] = self._check_levels(name)
        self._check_said()
        self._check_modes()
        self._check_seeds()
        self._check_requirements()
        baseline = self._baseline()
        exclude = self._exclusions()
        if self.faults:
            raise self.document.error(self.faults)
        grid = self._assemble(measures, baseline, exclude)
        cells = count(grid)
        if cells > MAX_CELLS:
            words = f"{cells:,} cells, more than the {MAX_CELLS:,} that a grid may have"
            raise self.document.error([Fault(("factors",), words, True)])
        faults = level_faults(grid, self.resolver)
        if faults:
            raise self.document.error(faults)
        return grid

    def _assemble(
        self,
        measures: Iterable[AskedMeasure],
        baseline: Mapping[str, str],
        exclude: Iterable[Exclusion],
    ) -> Grid:
        file = GridFile.model_validate(self.document.data)
        seeds = range(file.seeds) if isinstance(file.seeds, int) else file.seeds
        model = Model.model_validate(self.given).model_dump()
        rows = settings(
            model,
            self.catalog,
            given=self._given_keys(),
            factors={n: self.levels[n] for n, scope in self.scopes.items() if scope == "model"},
        )
        return Grid(
            name=file.name,
            model=model,
            factors=tuple(
                Factor(
                    name=name,
                    levels=tuple(Level(label=_words(name, v), value=v) for v in self.levels[name]),
                    scope=scope,
                )
                for name, scope in self.scopes.items()
            ),
            baseline=baseline,
            seeds=tuple(seeds),
            measures=tuple(measures),
            design=file.design,
            exclude=tuple(exclude),
            requires=tuple(file.requires),
            device="cpu",
            dtype=file.dtype,
            timeout=file.timeout,
            threads=file.threads,
            document=self.document,
            setting_rows=rows,
        )

    def _fault(self, path: DataPath, message: str, on_key: bool = False) -> None:
        self.faults.append(Fault(path, message, on_key))

    def _attempt(self, path: DataPath, action: Callable[[], T]) -> T | None:
        """The action's result, or its faults, which are relative to the value at `path`."""
        try:
            return action()
        except Faulty as error:
            self.faults += [Fault((*path, *f.path), f.message, f.on_key) for f in error.faults]
            return None

    def _measures(self) -> list[AskedMeasure]:
        asked = []
        for i, item in enumerate(self.data.get("measures", [])):
            path: DataPath = ("measures", i)
            part = entry(item)
            if part is None:
                words = "expected a measure as name or {name: {option: value}}"
                self._fault(path, f"{words}, not {show(item)}")
                continue
            name, options = part
            inside = path if options is None else (*path, name)
            options = options or {}
            try:
                spec = self.catalog.measure(name)
            except RegistryError as error:
                self._fault(inside, str(error), True)
                continue
            if spec.name in self.asked:
                self._fault(path, f"measure {spec.name!r} is asked for twice")
                continue
            self.asked[spec.name] = (spec, options)
            self.inside[spec.name] = (*path, name)
            choice = self._attempt(inside, partial(self._choose, spec, options))
            if choice is not None:
                choice = replace(choice, given=frozenset(options))
                asked.append(AskedMeasure(spec=spec, choice=choice))
        return asked

    def _choose(self, spec: MeasureSpec, options: Mapping[str, Any]) -> Choice:
        """A measure's choice, an option that it must have taken from the factor that varies it.

        Raises: Faulty, without the faults that are told at that factor.
        """
        with contextlib.suppress(Faulty):
            return self.resolver.measure(spec, options)
        try:
            return self.resolver.measure(spec, self._first(spec.name, options))
        except Faulty as error:
            varied = self._varied(spec.name)
            raise Faulty(f for f in error.faults if not set(f.path) & set(varied)) from None

    def _component(self, key: str, value: Any) -> Any:
        """A component as written, with the options that vary at their first level.

        Raises: Faulty, without the faults that are told at those factors.
        """
        varied = self._varied(key)
        if value is not None:
            for part, levels in varied.items():
                value = with_part(key, value, part, levels[0])
        try:
            self.resolver.components(key, value)
        except Faulty as error:
            own = [f for f in error.faults if not (f.path and f.path[-1] in varied)]
            raise Faulty(own) from None
        return value

    def _varied(self, key: str) -> dict[str, list[Any]]:
        """The options of a component key or measure that are factors, with their levels."""
        prefix = f"{key}."
        return {
            name.removeprefix(prefix): levels
            for name, levels in self.levels.items()
            if name.startswith(prefix)
        }

    def _first(self, key: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options as written, and those that vary at their first level where they are not."""
        return {**{part: levels[0] for part, levels in self._varied(key).items()}, **options}

    def _scope(self, name: str) -> Scope | None:
        """What a factor's name refers to; None, and a fault, when to nothing."""
        key, dot, part = name.partition(".")
        known = {spec.name for spec in self.catalog.measures()}
        if name in Model.model_fields or (dot and key in COMPONENT_KINDS):
            return "model"
        if dot and key in PARTS:
            if part in PARTS[key]:
                return "model"
            words = f"{key} has no part {show(part)}; {nearest(part, PARTS[key])}"
        elif dot and key in Model.model_fields:
            words = f"{key} has no options; vary {key} itself"
        elif dot and key in self.asked:
            return "measure"
        elif dot and key in known:
            words = f"has no effect: measures does not ask for {key}"
        elif dot:
            names = [*COMPONENT_KINDS, *PARTS, *known]
            words = f"unknown factor: {show(key)} is no component or measure; {nearest(key, names)}"
        else:
            words = f"unknown factor; {nearest(name, Model.model_fields)}"
        self._fault(("factors", name), words, True)
        return None

    def _takers(self, name: str) -> list[Taker]:
        """Who takes a factor's option; a fault for each chosen component that does not."""
        key, _, part = name.partition(".")
        if self.scopes[name] == "measure":
            users: list[Taker] = [self.asked[key]]
        elif part and key in COMPONENT_KINDS:
            users = self._users(name, key)
        else:
            return []
        takers = []
        for spec, options in users:
            kind = spec.kind if isinstance(spec, ComponentSpec) else "measure"
            try:
                known = [option.name for option in self.catalog.options(spec)]
            except Exception:  # noqa: S112 - its class does not load: told where it is chosen
                continue
            if part in known:
                takers.append((spec, options))
                continue
            hint = nearest(part, known) if known else "it has none"
            words = f"{kind} {spec.name!r} has no option {show(part)}; {hint}"
            if isinstance(spec, ComponentSpec):
                words += f"; every {kind} of the grid must have it"
            self._fault(("factors", name), words, True)
        return takers

    def _users(self, name: str, key: str) -> list[Taker]:
        """The distinct components that are chosen for a key, each with options as written."""
        default = Model.model_fields[key].default
        users: dict[str, Taker] = {}
        for value in self.levels.get(key, [self.given.get(key, default)]):
            if value is None and key == "embedding_norm":
                words = "has no effect where embedding_norm is null: give a norm at every level"
                self._fault(("factors", name), words, True)
                continue
            try:
                for _, component, options in entries(key, value):
                    spec = self.catalog.component(COMPONENT_KINDS[key], component)
                    users.setdefault(component, (spec, self._first(key, options or {})))
            except (Faulty, RegistryError):
                continue  # told where that value stands
        return list(users.values())

    def _check_levels(self, name: str) -> list[str | None]:
        """The canonical text of each level; faults of those that are wrong or repeated."""
        key, _, part = name.partition(".")
        found: list[str | None] = []
        for i, value in enumerate(self.levels[name]):
            path: DataPath = ("factors", name, i)
            if not part:
                self._check_overriding(key, value, path)
            text = self._attempt(path, partial(self._canonical, name, value))
            if text is not None and text in found:
                first = _words(name, self.levels[name][found.index(text)])
                self._fault(path, f"{_words(name, value)} is the same level as {first}")
            found.append(text)
        return found

    def _canonical(self, name: str, value: Any) -> str:
        """A level's value, defaults filled in, as a text. Raises: Faulty."""
        key, _, part = name.partition(".")
        if self.scopes[name] == "measure" or (part and key in COMPONENT_KINDS):
            return self._canonical_option(name, part, value)
        if part:
            try:
                return canonical_json(self.resolver.canonical_value(key, {part: value})[part])
            except Faulty as error:
                raise Faulty(Fault(f.path[1:], f.message, f.on_key) for f in error.faults) from None
        if key in COMPONENT_KINDS:
            value = self._component(key, value)
        return canonical_json(self.resolver.canonical_value(key, value))

    def _canonical_option(self, name: str, part: str, value: Any) -> str:
        """Of an option, checked against everyone who takes it. Raises: Faulty."""
        text: str | None = None
        faults: list[Fault] = []
        for spec, options in self.takers[name]:
            try:
                choice = self.resolver.choose(spec, {**options, part: value}, ())
            except Faulty as error:
                faults += [Fault((), f.message) for f in error.faults if f.path == (part,)]
            else:
                text = text or canonical_json(plain(choice.options[part]))
        if text is None or faults:
            raise Faulty(faults)
        return text

    def _check_overriding(self, key: str, value: Any, path: DataPath) -> None:
        """A level may not give an option or a part that is a factor of its own."""
        places: list[tuple[DataPath, Any]] = []
        if key in PARTS:
            places = [((), value)]
        elif key in COMPONENT_KINDS:
            with contextlib.suppress(Faulty):
                places = [((*where, name), options) for where, name, options in entries(key, value)]
        for where, options in places:
            named = set(options) if isinstance(options, dict) else set()
            for part in sorted(named & set(self._varied(key))):
                words = f"has no effect: factor {key}.{part} sets it"
                self._fault((*path, *where, part), words, True)

    def _said(self, name: str) -> list[tuple[DataPath, Any]]:
        """What `model` or `measures` gives for a factor, where it does so in so many words."""
        key, _, part = name.partition(".")
        if self.scopes[name] == "measure":
            _, options = self.asked[key]
            return [((*self.inside[key], part), options[part])] if part in options else []
        if key not in self.given:
            return []
        value = self.given[key]
        if not part:
            return [(("model", key), value)]
        if key in PARTS:
            named = isinstance(value, dict) and part in value
            return [(("model", key, part), value[part])] if named else []
        if key in self.levels:  # judged whole, by that factor
            return []
        try:
            return [
                (("model", key, *where, component, part), options[part])
                for where, component, options in entries(key, value)
                if options and part in options
            ]
        except Faulty:
            return []

    def _check_said(self) -> None:
        """What is given for a key that a factor sets must be one of its levels."""
        for name, texts in self.canonical.items():
            if None in texts:
                continue
            for path, value in self._said(name):
                try:
                    text = self._canonical(name, value)
                except Faulty:
                    continue  # told where it stands, or by the factor
                if text not in texts:
                    words = _words(name, value)
                    hint = nearest(words, [_words(name, level) for level in self.levels[name]])
                    reason = f"it is not a level of factor {name}; {hint}"
                    self._fault(path, f"{words} has no effect: {reason}", True)

    def _check_modes(self) -> None:
        """Some keys change nothing that the measures asked for look at."""
        modes = {spec.mode for spec, _ in self.asked.values()}
        if len(self.asked) < len(self.data.get("measures", [None])):
            return  # one that is not known might look
        names = ", ".join(sorted(self.asked))
        for name in self.scopes:
            key = name.partition(".")[0]
            if len(self.levels[name]) == 1:
                continue
            if modes == {"static"} and key in _STATIC_BLIND:
                words = f"has no effect: what is measured ({names}) depends on shapes alone"
                self._fault(("factors", name), words, True)
            elif "running" not in modes and key == "dropout":
                words = f"has no effect: nothing that is measured ({names}) trains"
                self._fault(("factors", name), words, True)

    def _check_seeds(self) -> None:
        seeds = self.data.get("seeds")
        if isinstance(seeds, list):
            for i, seed in enumerate(seeds):
                if seed in seeds[:i]:
                    self._fault(("seeds", i), f"seed {seed} is given twice")

    def _check_requirements(self) -> None:
        for i, text in enumerate(self.data.get("requires", [])):
            reason = _unmet(text, self.catalog)
            if reason:
                self._fault(("requires", i), reason)

    def _find(self, name: str, value: Any) -> str | None:
        """The label of the level that a value or a label names."""
        labels = [_words(name, level) for level in self.levels[name]]
        if isinstance(value, str) and value in labels:
            return value
        try:
            text = self._canonical(name, value)
        except Faulty:
            return None
        texts = self.canonical[name]
        return labels[texts.index(text)] if text in texts else None

    def _named_level(self, name: str, value: Any, path: DataPath) -> str | None:
        """The label of a level that the baseline or an exclusion names; else None and a fault."""
        if name not in self.levels:
            if "factors" in self.data and name not in self.document.data["factors"]:
                self._fault(path, f"is not a factor; {nearest(name, self.levels)}", True)
            return None
        found = self._find(name, value) if name in self.scopes else None
        if found is None and None not in self.canonical.get(name, [None]):
            labels = [_words(name, level) for level in self.levels[name]]
            try:
                words = _words(name, value)
            except Faulty:
                words = show(value)
            self._fault(path, f"{words} is not a level of {name}; {nearest(words, labels)}")
        return found

    def _baseline(self) -> dict[str, str]:
        given = self.data.get("baseline", {})
        named = {n: self._named_level(n, value, ("baseline", n)) for n, value in given.items()}
        baseline = {}
        for name in self.scopes:
            label = named.get(name)
            if label is None and name not in named:
                said = self._said(name)
                key, _, part = name.partition(".")
                if not said and part and key in PARTS and key in self.given:
                    said = [((), self.resolver.canonical_value(key, self.given[key])[part])]
                label = self._find(name, said[0][1]) if said else None
            baseline[name] = label or _words(name, self.levels[name][0])
        return baseline

    def _exclusions(self) -> list[Exclusion]:
        found: list[Exclusion] = []
        for i, item in enumerate(self.data.get("exclude", [])):
            path: DataPath = ("exclude", i)
            if not isinstance(item, dict):
                words = "expected {factor: level, …, because: text}"
                self._fault(path, f"{words}, not {show(item)}")
                continue
            because = item.get("because")
            if "because" not in item:
                self._fault(path, "missing key 'because': why these cells are left out")
            elif not isinstance(because, str) or not because.strip():
                words = f"expected text: why these cells are left out, not {show(because)}"
                self._fault((*path, "because"), words)
            named = {
                name: self._named_level(name, value, (*path, name))
                for name, value in item.items()
                if name != "because"
            }
            if not named:
                self._fault(path, "names no factor: give a level of one, or leave it out")
            when = {name: label for name, label in named.items() if label is not None}
            if when and len(when) == len(named) and any(when == other.when for other in found):
                self._fault(path, "excludes the same cells as another exclusion")
            found.append(Exclusion(when=when, because=str(because)))
        return found

    def _given_keys(self) -> frozenset[str]:
        """The keys of the model that were written, parts and all."""
        parts = []
        for key, names in PARTS.items():
            if key in self.given:
                value = self.given[key]
                # A single value speaks for all parts but the head's bias.
                own = value if isinstance(value, dict) else set(names) - {"head"}
                parts += [f"{key}.{part}" for part in names if part in own]
        return frozenset([*self.given, *parts])


def _words(name: str, value: Any) -> str:
    """The label of a factor's level; one that cannot be read is shown."""
    key, _, part = name.partition(".")
    try:
        return label("" if part else key, value)
    except Faulty:
        return show(value)


def _without(data: Any, paths: Iterable[DataPath]) -> Any:
    """A copy without what stands at the paths; of a list, all of it, so that the rest keeps its
    place."""
    copy = deepcopy(data)
    for path in paths:
        steps = list(itertools.takewhile(lambda step: isinstance(step, str), path))
        holder: Any = copy
        for step in steps[:-1]:
            holder = holder.get(step, {})
        if steps:
            holder.pop(steps[-1], None)
    return copy


def _unmet(text: str, catalog: Catalog) -> str:
    """Why a requirement does not hold; empty when it does."""
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return f"expected a plugin and its versions, such as 'my-plugin>=1.2', not {show(text)}"
    if wanted.url or wanted.marker or wanted.extras:
        return f"expected a name and versions alone, such as 'my-plugin>=1.2', not {show(text)}"
    name = canonicalize_name(wanted.name)
    distributions = {record.name.partition(":")[0] for record in catalog.plugins}
    records = [
        record
        for record in catalog.plugins
        if canonicalize_name(record.name.partition(":")[0]) == name
    ]
    if not records:
        return f"plugin {wanted.name!r} is not installed; {nearest(wanted.name, distributions)}"
    for record in records:
        if record.state == "failed":
            return f"plugin {record.name!r} failed to load: {record.message}"
        try:
            met = wanted.specifier.contains(record.version, prereleases=True)
        except InvalidVersion:
            met = False
        if not met:
            version = record.version or "without a version"
            return f"needs {text}, but {version} is installed"
    return ""
