"""What a grid's factors are: their levels, what their names refer to, who takes an option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ablations.grids.asked_measures import WrittenMeasure
from ablations.grids.document import show
from ablations.grids.faults import Faulty
from ablations.grids.placebo import PLACEBO
from ablations.grids.reading import Reading
from ablations.models.model import COMPONENT_KINDS, PARTS, Model
from ablations.models.written import entries
from registry.errors import RegistryError, nearest
from registry.spec import ComponentSpec, MeasureSpec

Scope = Literal["model", "measure", "stream"]


@dataclass(frozen=True, kw_only=True)
class Level:
    """A value that a factor takes, as written, and its label, unique in the factor."""

    label: str
    value: Any


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What varies: a key of the model or an option of a component, an option of a measure, or
    the random stream that a trial draws from."""

    name: str
    levels: tuple[Level, ...]
    scope: Scope


@dataclass(frozen=True, kw_only=True)
class Taker:
    """Who takes an option, with options that it has somewhere in the grid."""

    spec: ComponentSpec | MeasureSpec
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a factor varies: a key or a part of it, an option and those that take it, or nothing
    but the random stream."""

    name: str
    scope: Scope
    takers: tuple[Taker, ...] = ()

    @property
    def key(self) -> str:
        """The key of the model, or the measure."""
        return self.name.partition(".")[0]

    @property
    def part(self) -> str:
        """What of it varies: an option, or one of its parts; empty for all of it."""
        return self.name.partition(".")[2]

    @property
    def is_option(self) -> bool:
        """Whether a component or a measure takes it; else it is a value of the model."""
        return self.scope == "measure" or (bool(self.part) and self.key in COMPONENT_KINDS)


def read_subject(
    reading: Reading, measures: Mapping[str, WrittenMeasure], name: str
) -> Subject | None:
    """What a factor's name refers to; None, and a fault, when to nothing."""
    key, dot, part = name.partition(".")
    known = {spec.name for spec in reading.catalog.measures()}
    if name == PLACEBO:
        return Subject(name=name, scope="stream")
    if name in Model.model_fields:
        return Subject(name=name, scope="model")
    if dot and key in COMPONENT_KINDS:
        takers = _takers(reading, name, _components(reading, name))
        return Subject(name=name, scope="model", takers=takers)
    if dot and key in PARTS:
        if part in PARTS[key]:
            return Subject(name=name, scope="model")
        words = f"{key} has no part {show(part)}; {nearest(part, PARTS[key])}"
    elif dot and key in Model.model_fields:
        words = f"{key} has no options; vary {key} itself"
    elif dot and key in measures:
        measure = Taker(spec=measures[key].spec, options=measures[key].options)
        takers = _takers(reading, name, [measure])
        return Subject(name=name, scope="measure", takers=takers)
    elif dot and key in known:
        words = f"has no effect: measures does not ask for {key}"
    elif dot:
        names = [*COMPONENT_KINDS, *PARTS, *known]
        words = f"unknown factor: {show(key)} is no component or measure; {nearest(key, names)}"
    else:
        words = f"unknown factor; {nearest(name, Model.model_fields)}"
    reading.faults.add(("factors", name), words, True)
    return None


def _takers(reading: Reading, name: str, chosen: list[Taker]) -> tuple[Taker, ...]:
    """Those of the chosen that have a factor's option; a fault for each that does not."""
    part = name.partition(".")[2]
    takers = []
    for taker in chosen:
        spec = taker.spec
        try:
            known = [option.name for option in reading.catalog.options(spec)]
        except Exception:  # noqa: S112 - its class does not load: told where it is chosen
            continue
        if part in known:
            takers.append(taker)
            continue
        hint = nearest(part, known) if known else "it has none"
        words = f"{spec.slot} {spec.name!r} has no option {show(part)}; {hint}"
        if isinstance(spec, ComponentSpec):
            words += f"; every {spec.slot} of the grid must have it"
        reading.faults.add(("factors", name), words, True)
    return tuple(takers)


def _components(reading: Reading, name: str) -> list[Taker]:
    """The distinct components that are chosen for a key, each with options as written."""
    key = name.partition(".")[0]
    default = Model.model_fields[key].default
    found: dict[str, Taker] = {}
    for value in reading.levels.get(key, [reading.model.get(key, default)]):
        if value is None and key == "embedding_norm":
            words = "has no effect where embedding_norm is null: give a norm at every level"
            reading.faults.add(("factors", name), words, True)
            continue
        try:
            for _, component, options in entries(key, value):
                spec = reading.catalog.component(COMPONENT_KINDS[key], component)
                taker = Taker(spec=spec, options=reading.at_first(key, options or {}))
                found.setdefault(component, taker)
        except (Faulty, RegistryError):
            continue  # told where that value stands
    return list(found.values())
