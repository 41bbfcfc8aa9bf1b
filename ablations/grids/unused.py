"""Options of measures that a grid gives and that change nothing in any of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ablations.grids.document import DataPath, Fault
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid


def unused_faults(grid: Grid, choices: Callable[[str], Iterable[Choice]]) -> list[Fault]:
    """A fault for each option that its measure says is of no use, in all of its choices alike.

    `choices` gives those that a measure has in the cells that run.
    """
    faults = []
    for place, asked in enumerate(grid.measures):
        name = asked.choice.name
        varied = {
            factor.name.removeprefix(f"{name}.")
            for factor in grid.factors
            if factor.name.startswith(f"{name}.")
        }
        told: dict[str, str] | None = None
        for choice in choices(name):
            found = _unused(choice)
            if told is None:
                told = {o: why for o, why in found.items() if o in varied | asked.choice.given}
            told = {option: why for option, why in told.items() if option in found}
            if not told:  # as the first choice already tells of most measures
                break
        for option, why in sorted((told or {}).items()):
            path: DataPath = ("measures", place, name, option)
            if option in varied:
                path = ("factors", f"{name}.{option}")
            faults.append(Fault(path, f"has no effect: {why}", True))
    return faults


def _unused(choice: Choice) -> dict[str, str]:
    try:
        measure = choice.load()(**choice.options)
        unused = getattr(measure, "unused", None)
        return dict(unused()) if unused is not None else {}
    except (Exception, SystemExit):
        return {}  # a broken measure's trials fail, each with its message
