"""A grid being read: what of it fits the schema, and the faults found so far."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from ablations.grids.document import DataPath, Document, Fault
from ablations.grids.faults import Faults, Faulty
from ablations.grids.placebo import LEVELS, PLACEBO, misplaced
from ablations.grids.schema import file_faults
from ablations.grids.starting import Start, start_of
from ablations.models.model import PARTS
from ablations.models.resolution import Resolver
from ablations.models.written import parts_of, with_part
from registry.catalog import Catalog


class Reading:
    """What the steps of reading share; each adds its faults and goes on with what is sound."""

    def __init__(self, document: Document, catalog: Catalog) -> None:
        self.document = document
        self.catalog = catalog
        self.resolver = Resolver(catalog)
        self.faults = Faults(_file_faults(document.data))
        self.data = _without(document.data, [fault.path for fault in self.faults.found])
        self.start = self._start()
        self.model: dict[str, Any] = dict(self.start.model)
        self.levels: dict[str, list[Any]] = dict(self.data.get("factors", {}))
        if self.data.get(PLACEBO):
            self.levels[PLACEBO] = list(LEVELS)

    def _start(self) -> Start:
        """What the model starts from; without it nothing else can be judged. Raises: GridError."""
        found = self.faults.found
        if any(fault.path[:1] in (("recipe",), ("scale_to",)) for fault in found):
            raise self.document.error(found)
        try:
            return start_of(self.data)
        except Faulty as error:
            raise self.document.error([*found, *error.faults]) from None

    def varied(self, key: str) -> dict[str, list[Any]]:
        """The options of a component key or measure that are factors, with their levels."""
        return parts_of(key, self.levels)

    def at_first(self, key: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options as written, and those that vary at their first level where they are not."""
        return {**{part: levels[0] for part, levels in self.varied(key).items()}, **options}

    def check_component(self, key: str, value: Any) -> Any:
        """A component as written, with the options that vary at their first level.

        Raises: Faulty, without the faults that are told at those factors.
        """
        varied = self.varied(key)
        if value is not None:
            for part, levels in varied.items():
                value = with_part(key, value, part, levels[0])
        try:
            self.resolver.chooser.components(key, value)
        except Faulty as error:
            raise Faulty(f for f in error.faults if _option(f.path) not in varied) from None
        return value

    def given_keys(self) -> frozenset[str]:
        """The keys of the model that were written, parts and all."""
        given, parts = self.start.given, []
        for key, names in PARTS.items():
            if key in given:
                value = given[key]
                # A single value speaks for all parts but the head's bias.
                own = value if isinstance(value, dict) else set(names) - {"head"}
                parts += [f"{key}.{part}" for part in names if part in own]
        return frozenset([*given, *parts])


def _file_faults(data: Mapping[str, Any]) -> list[Fault]:
    """What does not fit the schema; of a factor with a reserved name nothing but that."""
    found = file_faults(data)
    fault = misplaced(data)
    if fault is None:
        return found
    return [*(other for other in found if other.path[:2] != fault.path), fault]


def _option(path: DataPath) -> str | int | None:
    """The option that a path inside a component names: it stands under the component's name."""
    return path[-1] if len(path) > 1 and isinstance(path[-2], str) else None


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
