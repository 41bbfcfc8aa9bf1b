"""Components as a person writes them: `name`, `{name: {option: value}}`, `{layers: [...]}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ablations.grids.document import DataPath, Fault, show
from ablations.grids.faults import Faulty
from ablations.models.model import COMPONENT_KINDS, PARTS, PER_BLOCK, Model

Levels = TypeVar("Levels", bound=Sequence[Any])
Entry = tuple[DataPath, str, dict[str, Any] | None]
"""Path, name and options of a component; options are None where the name stands alone."""


def is_layers(value: Any) -> bool:
    """Whether a value names something for each block."""
    return isinstance(value, dict) and set(value) == {"layers"}


def entry(value: Any) -> tuple[str, dict[str, Any] | None] | None:
    """The name and options of `name` or `{name: {option: value}}`; None for anything else."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and len(value) == 1:
        ((name, options),) = value.items()
        if isinstance(options, dict):
            return name, options
    return None


def entries(key: str, value: Any) -> list[Entry]:
    """Each component that a value names, paths relative to it. Raises: Faulty."""
    found, faults = read_entries(key, value)
    if faults:
        raise Faulty(faults)
    return found


def read_entries(key: str, value: Any) -> tuple[list[Entry], list[Fault]]:
    """The components of a value that can be read, and the faults of the others."""
    forms = "name, {name: {option: value}}"
    items: dict[DataPath, Any] = {(): value}
    if key in PER_BLOCK:
        if is_layers(value):
            layers = value["layers"]
            if not isinstance(layers, list) or not layers:
                words = f"expected a list of at least one component, not {show(layers)}"
                return [], [Fault(("layers",), words)]
            items = {("layers", i): item for i, item in enumerate(layers)}
        else:
            forms += " or {layers: [...]}"
    elif key == "embedding_norm":
        forms += " or null"
    found: list[Entry] = []
    faults: list[Fault] = []
    for path, item in items.items():
        part = entry(item)
        if part is None:
            words = f"expected {COMPONENT_KINDS[key]} as {forms}, not {show(item)}"
            faults.append(Fault(path, words))
        else:
            found.append((path, *part))
    return found, faults


def parts_of(key: str, factors: Mapping[str, Levels]) -> dict[str, Levels]:
    """The options or parts of a key that are factors of their own, with their levels."""
    prefix = f"{key}."
    return {
        name.removeprefix(prefix): levels
        for name, levels in factors.items()
        if name.startswith(prefix)
    }


def with_part(key: str, value: Any, part: str, level: Any) -> Any:
    """A value of `model` as written, with one option or part of it set to a level.

    Raises: Faulty for a component that is none.
    """
    if key in PARTS:
        return {**Model.model_validate({key: value}).whole()[key], part: level}
    items = [{name: {**(options or {}), part: level}} for _, name, options in entries(key, value)]
    return {"layers": items} if is_layers(value) else items[0]
