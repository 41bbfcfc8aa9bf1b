"""The measures that a grid asks for, and the factors that none of them can tell apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ablations.grids.document import DataPath, show
from ablations.grids.faults import Faulty
from ablations.grids.placebo import PLACEBO, factor_path
from ablations.grids.reading import Reading
from ablations.models.written import entry
from registry.errors import RegistryError
from registry.spec import Choice, MeasureSpec

_STATIC_BLIND = ("initializer", "embedding_scale", "logit_scale", "logit_softcap", "dropout")
"""Keys that shapes do not depend on."""


@dataclass(frozen=True, kw_only=True)
class AskedMeasure:
    """A measure that the grid asks for, with its options."""

    spec: MeasureSpec
    choice: Choice


@dataclass(frozen=True, kw_only=True)
class WrittenMeasure:
    """A measure as written: options stand at `path`; no choice where they are faulty."""

    spec: MeasureSpec
    options: Mapping[str, Any]
    path: DataPath
    choice: Choice | None


def read_measures(reading: Reading) -> dict[str, WrittenMeasure]:
    """Each measure that is known, by its name."""
    found: dict[str, WrittenMeasure] = {}
    for i, item in enumerate(reading.data.get("measures", [])):
        path: DataPath = ("measures", i)
        part = entry(item)
        if part is None:
            words = "expected a measure as name or {name: {option: value}}"
            reading.faults.add(path, f"{words}, not {show(item)}")
            continue
        name, options = part
        inside = path if options is None else (*path, name)
        options = options or {}
        try:
            spec = reading.catalog.measure(name)
        except RegistryError as error:
            reading.faults.add(inside, str(error), True)
            continue
        if spec.name in found:
            reading.faults.add(path, _twice(spec, found[spec.name].spec))
            continue
        choice = reading.faults.attempt(inside, partial(_choose, reading, spec, options))
        found[spec.name] = WrittenMeasure(
            spec=spec, options=options, path=(*path, name), choice=choice
        )
    return found


def check_modes(
    reading: Reading, measures: Mapping[str, WrittenMeasure], factors: Iterable[str]
) -> None:
    """Some keys change nothing that the measures asked for look at."""
    if len(measures) < len(reading.data.get("measures", [None])):
        return  # one that is not known might look
    modes = {measure.spec.mode for measure in measures.values()}
    names = ", ".join(sorted(measures))
    for name in factors:
        key = name.partition(".")[0]
        if len(reading.levels[name]) == 1:
            continue
        if modes == {"static"} and (key in _STATIC_BLIND or name == PLACEBO):
            words = f"has no effect: what is measured ({names}) depends on shapes alone"
            reading.faults.add(factor_path(name), words, True)
        elif "running" not in modes and key == "dropout":
            words = f"has no effect: nothing that is measured ({names}) trains"
            reading.faults.add(("factors", name), words, True)


def _twice(spec: MeasureSpec, other: MeasureSpec) -> str:
    owners = sorted({spec.provenance.distribution, other.provenance.distribution})
    if len(owners) == 1:
        return f"measure {spec.name!r} is asked for twice"
    return f"one grid cannot take measure {spec.name!r} of {' and of '.join(owners)}"


def _choose(reading: Reading, spec: MeasureSpec, options: Mapping[str, Any]) -> Choice:
    """A measure's choice, an option that it must have taken from the factor that varies it.

    Raises: Faulty, without the faults that are told at that factor.
    """
    chooser = reading.resolver.chooser
    with contextlib.suppress(Faulty):
        return chooser.measure(spec, options)
    try:
        choice = chooser.measure(spec, reading.at_first(spec.name, options))
    except Faulty as error:
        varied = set(reading.varied(spec.name))
        raise Faulty(f for f in error.faults if not set(f.path) & varied) from None
    return replace(choice, given=frozenset(options))
