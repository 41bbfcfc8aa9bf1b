"""What would run: every cell counted by its shapes, or skipped with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ablations.architecture import Architecture
from ablations.combinations import baseline_number, label, pairs, places
from ablations.design import Cell, cells, check_levels
from ablations.estimating import Estimator, PlannedCell
from ablations.grid import Grid
from ablations.grids.document import Fault
from ablations.grids.placebo import factor_path
from ablations.grids.unused import unused_faults
from ablations.machine import memory_share
from ablations.made import Made
from ablations.parallel import Workers, chosen_workers
from ablations.survey import Survey
from ablations.trial import Measurement, Trial, TrialContext
from registry.catalog import Catalog
from registry.spec import Choice

Lister = Callable[[Iterable[Any]], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A grid worked out: its cells in order, those that run and those that do not.

    A cell is planned anew whenever it is asked for, so that a million take little memory.
    """

    grid: Grid
    catalog: Catalog
    cells: Made[PlannedCell]
    survey: Survey = field(repr=False, compare=False)

    @property
    def running(self) -> Made[PlannedCell]:
        """The cells that are not skipped."""
        return self.cells.of(self.survey.running)

    @cached_property
    def baseline(self) -> Architecture | None:
        """The architecture of the baseline cell; None where its values do not go together."""
        return self.cells[baseline_number(self.grid)].cell.architecture

    @property
    def trials(self) -> int:
        """Cells that run, times seeds."""
        return len(self.survey.running) * len(self.grid.seeds)

    def choices(self, name: str) -> Iterable[Choice]:
        """A measure with each of the options that it has in cells that run, in their order."""
        seen: set[tuple[int, ...]] = set()
        varying = [of for of, f in enumerate(self.grid.factors) if f.name.startswith(f"{name}.")]
        for number in self.survey.running:
            chosen = places(self.grid, number)
            key = tuple([chosen[of] for of in varying])
            if key not in seen:
                seen.add(key)
                yield from (c for c in self.cells[number].cell.measures if c.name == name)
            if not varying:
                return

    def document(self, listed: Lister = list) -> dict[str, Any]:
        """What `plan --json` prints; `listed` makes its lists, which may be as long as the grid."""
        return {
            "cells": len(self.cells),
            "trials": self.trials,
            "skipped": listed(
                {"cell": self.label(number), "reason": reason}
                for number, reason in self.survey.skipped()
            ),
            "parameters": {"min": self.survey.least, "max": self.survey.most},
            "flops": self.flops,
            "seconds": self.seconds,
            "memory": {"limit": self.memory, "too_large": listed(self.each_too_large())},
        }

    def each_too_large(self) -> Iterable[dict[str, Any]]:
        """The measures of cells that need more memory than a trial may use."""
        memory = self.memory
        return (
            {"cell": planned.cell.label, "measure": name, "bytes": needed}
            for planned in self.cells.of(self.survey.at_least(memory))
            for name, needed in planned.least_bytes.items()
            if needed > memory
        )

    def label(self, number: int) -> str:
        """Of the cell of that number."""
        return label(self.grid.factors, places(self.grid, number))

    @cached_property
    def seconds(self) -> float:
        """Rough time of measuring on one core of this machine, without trials that do not fit."""
        return self.survey.seconds(self.memory) * len(self.grid.seeds)

    @property
    def too_large(self) -> int:
        """Trials of which a measure needs more memory than a trial may use."""
        fitting = self.survey.fitting(self.memory)
        return (len(self.survey.running) - fitting) * len(self.grid.seeds)

    @cached_property
    def workers(self) -> Workers:
        """The workers that a run has on this machine, unless it is told how many."""
        return chosen_workers(
            trials=self.trials, threads=self.grid.threads, needed=self.survey.largest
        )

    @property
    def memory(self) -> int:
        """Bytes that a trial may use, with these workers where the grid leaves it to those."""
        return self.grid.memory or memory_share(self.workers.number)

    @property
    def flops(self) -> float:
        """Of all trials together."""
        return self.survey.flops * len(self.grid.seeds)

    def text(self) -> str:
        """The same for a person, with every value of the model, given or default."""
        from ablations.plan_text import plan_text

        return plan_text(self)


def plan(grid: Grid, *, catalog: Catalog | None = None) -> Plan:
    """Work a grid out without measuring anything.

    Raises: GridError when every cell of a level is skipped, two cells are the same, a factor has no
    effect on what is counted, an option none on its measure, or a measure is to compare with a
    baseline cell that cannot be.
    """
    catalog = catalog or grid.catalog
    designed = cells(grid, catalog)
    estimator = Estimator(grid.dtype)
    planned = designed.then(estimator.planned)
    survey = Survey(planned)
    check_levels(grid, survey.cells())
    worked_out = Plan(
        grid=grid,
        catalog=catalog,
        cells=planned,
        survey=survey,
    )
    unused = unused_faults(grid, worked_out.choices)
    if unused:
        raise grid.document.error(unused)
    if grid.static and survey.counted == len(planned):
        _check_effects(grid, designed)
    _check_baseline(worked_out)
    return worked_out


def _context(cell: Cell) -> TrialContext:
    assert cell.architecture is not None, "a cell without an architecture is skipped"
    trial = Trial(cell=cell.cell, seed=0, architecture=cell.architecture, measures=())
    return TrialContext(trial)


def _check_baseline(plan: Plan) -> None:
    """Refuse a measure that builds the baseline cell where that has no architecture.

    Raises: GridError with every such measure.
    """
    if plan.baseline is not None:
        return
    reason = plan.cells[baseline_number(plan.grid)].cell.skipped
    faults = [
        Fault(
            ("measures", place),
            f"{asked.choice.name} compares with the baseline cell, which cannot be built: {reason}",
        )
        for place, asked in enumerate(plan.grid.measures)
        if asked.spec.against_baseline
    ]
    if faults:
        raise plan.grid.document.error(faults)


def _check_effects(grid: Grid, cells: Made[Cell]) -> None:
    """Refuse a factor that changes nothing that is counted, where all is known from shapes.

    Raises: GridError with every such factor.
    """
    counted: dict[int, tuple[Measurement, ...] | None] = {}

    def alike(one: int, other: int) -> bool:
        for number in (one, other):
            if number not in counted:
                counted[number] = _counted(cells[number])
        found = counted[one]
        return found is not None and found == counted[other]

    faults = []
    for factor in grid.factors:
        # The first pair that differs ends the search, so that few cells are counted.
        if len(factor.levels) > 1 and all(alike(*pair) for pair in pairs(grid, factor)):
            measured = ", ".join(asked.choice.name for asked in grid.measures)
            words = f"has no effect: what is measured ({measured}) is the same at all its levels"
            faults.append(Fault(factor_path(factor.name), words, True))
    if faults:
        raise grid.document.error(faults)


def _counted(cell: Cell) -> tuple[Measurement, ...] | None:
    """What the measures tell of a cell by its shapes; None where one of them cannot."""
    try:
        context = _context(cell)
        return tuple(choice.load()(**choice.options).measure(context) for choice in cell.measures)
    except (Exception, SystemExit):
        return None  # its trial will tell
