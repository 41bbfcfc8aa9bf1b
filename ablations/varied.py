"""What factors vary, read level by level: a key of the model, or options of a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ablations.models.canonical import canonical_json, plain
from ablations.models.choosing import Chooser
from ablations.models.resolution import Resolver, Value
from ablations.models.written import with_part
from registry.catalog import Catalog
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.asked_measures import AskedMeasure
    from ablations.grids.factors import Factor, Scope

MOST = 4_096
"""Choices of a measure that are kept at most: its factors alone may have a million combinations."""


Places = tuple[int, ...]
"""Of each factor of a grid the place of its level in a cell."""


def written(grid: Grid, key: str, varied: Mapping[str, Any]) -> Any:
    """A key of the model as written, with the levels of the factors that vary it."""
    value = varied.get(key, grid.model[key])
    for name, level in varied.items():
        if name != key:
            value = with_part(key, value, name.partition(".")[2], level)
    return value


class VariedKey:
    """A key of the model that factors vary: what it is at each combination of their levels."""

    def __init__(self, grid: Grid, key: str, resolver: Resolver) -> None:
        self.key = key
        self._grid = grid
        self._resolver = resolver
        self._factors = _factors(grid, "model", key)
        self._own = itemgetter(*self._factors)
        self._values: dict[Any, Value] = {}

    def value(self, places: Places) -> Value:
        """The value in the cell of these places."""
        own = self._own(places)
        found = self._values.get(own)
        if found is None:
            varied = {f.name: f.levels[places[of]].value for of, f in self._factors.items()}
            value = written(self._grid, self.key, varied)
            found = self._values[own] = self._resolver.value(self.key, value)
        return found

    @property
    def repeats(self) -> bool:
        """Whether it is the same at two combinations of levels."""
        seen: set[str] = set()
        places = [0] * len(self._grid.factors)
        for chosen in product(*(range(len(f.levels)) for f in self._factors.values())):
            for of, place in zip(self._factors, chosen, strict=True):
                places[of] = place
            text = canonical_json(self.value(tuple(places)).plain)
            if text in seen:
                return True
            seen.add(text)
        return False


class VariedMeasure:
    """What a measure is in each cell.

    Each level is checked once: what an option may be does not depend on the others.
    """

    def __init__(self, grid: Grid, asked: AskedMeasure, chooser: Chooser, catalog: Catalog) -> None:
        spec, default = asked.spec, asked.choice
        self.name = spec.name
        self._choice = default
        factors = _factors(grid, "measure", spec.name)
        self._parts = {of: f.name.partition(".")[2] for of, f in factors.items()}
        if not factors:
            return
        self._own = itemgetter(*factors)
        given = {name: default.options[name] for name in default.given}
        first = given | {part: factors[of].levels[0].value for of, part in self._parts.items()}
        self._choice = chooser.measure(spec, first)
        self._values: dict[str, list[Any]] = {
            part: [
                chooser.measure(spec, first | {part: level.value}).options[part]
                for level in factors[of].levels
            ]
            for of, part in self._parts.items()
        }
        required = {o.name for o in catalog.options(spec) if o.required} - default.given
        self._asked = {
            part: None if part in required else canonical_json(plain(default.options[part]))
            for part in self._values
        }
        """What the grid asks for; None where only a factor gives it."""
        self._choices: dict[Any, Choice] = {}

    def choice(self, places: Places) -> Choice:
        """The measure in the cell of these places."""
        if not self._parts:
            return self._choice
        own = self._own(places)
        found = self._choices.get(own)
        if found is None:
            if len(self._choices) >= MOST:
                self._choices.clear()
            options = {**self._choice.options, **self._varied(places)}
            found = self._choices[own] = replace(self._choice, options=options)
        return found

    def changed(self, places: Places) -> dict[str, Any]:
        """The options in which it differs there from what the grid asks for, in plain form."""
        found = {part: plain(value) for part, value in self._varied(places).items()}
        return {
            part: value
            for part, value in found.items()
            if self._asked[part] is None or canonical_json(value) != self._asked[part]
        }

    @property
    def repeats(self) -> bool:
        """Whether it is the same at two combinations of levels."""
        return any(
            len({canonical_json(plain(value)) for value in self._values[part]})
            < len(self._values[part])
            for part in self._parts.values()
        )

    def _varied(self, places: Places) -> dict[str, Any]:
        return {part: self._values[part][places[of]] for of, part in self._parts.items()}


def _factors(grid: Grid, scope: Scope, key: str) -> dict[int, Factor]:
    """The factors that vary a key of the model or a measure, by their places in the grid."""
    return {
        of: factor
        for of, factor in enumerate(grid.factors)
        if factor.scope == scope and factor.name.partition(".")[0] == key
    }
