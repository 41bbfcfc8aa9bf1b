"""The executor that a grid names, with its options."""

from __future__ import annotations

from functools import partial

from ablations.grids.document import DataPath, show
from ablations.grids.reading import Reading
from ablations.models.written import entry
from registry.errors import RegistryError
from registry.spec import Choice


def read_executor(reading: Reading) -> Choice | None:
    """The executor; None where the grid leaves it to the command line, or a fault was noted."""
    value = reading.data.get("executor")
    if value is None:
        return None
    part = entry(value)
    if part is None:
        words = "expected an executor as name or {name: {option: value}}"
        reading.faults.add(("executor",), f"{words}, not {show(value)}")
        return None
    name, options = part
    path: DataPath = ("executor",) if options is None else ("executor", name)
    try:
        spec = reading.catalog.executor(name)
    except RegistryError as error:
        reading.faults.add(path, str(error), True)
        return None
    choose = reading.resolver.chooser.choose
    return reading.faults.attempt(path, partial(choose, spec, options or {}))
