"""A measure of a grid, with the options that factors vary, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ablations.models.canonical import canonical_json, plain
from ablations.models.choosing import Chooser
from registry.catalog import Catalog
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.asked_measures import AskedMeasure

MOST = 4_096
"""Choices of a measure that are kept at most: its factors alone may have a million combinations."""


class VariedMeasure:
    """What a measure is in each cell.

    Each level is checked once: what an option may be does not depend on the others.
    """

    def __init__(self, grid: Grid, asked: AskedMeasure, chooser: Chooser, catalog: Catalog) -> None:
        spec, default = asked.spec, asked.choice
        self.name = spec.name
        self._choice = default
        factors = enumerate(grid.factors)
        self._factors = [
            (of, factor.name.partition(".")[2], factor.levels)
            for of, factor in factors
            if factor.scope == "measure" and factor.name.partition(".")[0] == spec.name
        ]
        if not self._factors:
            return
        given = {name: default.options[name] for name in default.given}
        first = given | {part: levels[0].value for _, part, levels in self._factors}
        self._choice = chooser.measure(spec, first)
        self._values: dict[str, list[Any]] = {
            part: [
                chooser.measure(spec, first | {part: level.value}).options[part] for level in levels
            ]
            for _, part, levels in self._factors
        }
        required = {o.name for o in catalog.options(spec) if o.required} - default.given
        self._asked = {
            part: None if part in required else canonical_json(plain(default.options[part]))
            for part in self._values
        }
        """What the grid asks for; None where only a factor gives it."""
        self._choices: dict[tuple[int, ...], Choice] = {}

    def choice(self, places: tuple[int, ...]) -> Choice:
        """The measure in the cell of these places."""
        if not self._factors:
            return self._choice
        own = tuple([places[of] for of, _, _ in self._factors])
        if own not in self._choices:
            if len(self._choices) >= MOST:
                self._choices.clear()
            options = {**self._choice.options, **self._varied(places)}
            self._choices[own] = replace(self._choice, options=options)
        return self._choices[own]

    def changed(self, places: tuple[int, ...]) -> dict[str, Any]:
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
            len({canonical_json(plain(value)) for value in self._values[part]}) < len(levels)
            for _, part, levels in self._factors
        )

    def key(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """What tells the choices of the cells apart."""
        return tuple([places[of] for of, _, _ in self._factors])

    def _varied(self, places: tuple[int, ...]) -> Mapping[str, Any]:
        return {part: self._values[part][places[of]] for of, part, _ in self._factors}
