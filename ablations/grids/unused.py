"""Options of measures that a grid gives and that change nothing in any of its cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ablations.grids.document import DataPath, Fault
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid


def unused_faults(grid: Grid, choices: Iterable[Choice]) -> list[Fault]:
    """A fault for each option that its measure says is of no use, in all of `choices` alike.

    `choices` are those of the cells that run.
    """
    distinct: dict[str, dict[str, Choice]] = {asked.choice.name: {} for asked in grid.measures}
    for choice in choices:
        distinct[choice.name][repr(sorted(choice.options.items()))] = choice
    faults = []
    for place, asked in enumerate(grid.measures):
        name = asked.choice.name
        told = [_unused(choice) for choice in distinct[name].values()]
        everywhere = set.intersection(*map(set, told)) if told else set()
        for option in sorted(everywhere):
            varied = any(factor.name == f"{name}.{option}" for factor in grid.factors)
            given: DataPath = ("measures", place, name, option)
            if varied or option in asked.choice.given:
                path = ("factors", f"{name}.{option}") if varied else given
                faults.append(Fault(path, f"has no effect: {told[0][option]}", True))
    return faults


def _unused(choice: Choice) -> dict[str, str]:
    try:
        measure = choice.load()(**choice.options)
        unused = getattr(measure, "unused", None)
        return dict(unused()) if unused is not None else {}
    except (Exception, SystemExit):
        return {}  # a broken measure's trials fail, each with its message
