"""What would run: every cell built on the meta device, counted, or skipped with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablations.amounts import in_words
from ablations.architecture import Architecture
from ablations.decoder import Decoder
from ablations.design import Cell, cells, check_levels
from ablations.executors.process_tree import SEEN
from ablations.grid import Grid
from ablations.grids.document import Fault
from ablations.grids.placebo import factor_path
from ablations.grids.unused import unused_faults
from ablations.machine import memory_share, refusal, usable_cores
from ablations.printable import line
from ablations.progress import duration
from ablations.rates import rates
from ablations.sizes import dtype_of
from ablations.trial import Measurement, Trial, TrialContext
from registry.catalog import Catalog
from registry.errors import Incompatible, MissingExtra


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell and what its shapes tell; None where it is skipped or cannot be built here.

    `parameters` counts unique ones; `flops` is what one trial's measures compute (a multiply-add is
    2, attention over all T² pairs), `weight_bytes` what its weights and their gradients occupy.
    `least_bytes` is, by measure, the memory without which it cannot be done.
    """

    cell: Cell
    parameters: int | None = None
    flops: float | None = None
    least_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def weight_bytes(self) -> int | None:
        """Bytes of weights and gradients in float32."""
        return None if self.parameters is None else 2 * 4 * self.parameters


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A grid worked out: its cells in order, those that run and those that do not."""

    grid: Grid
    catalog: Catalog
    cells: tuple[PlannedCell, ...]
    seconds: float
    """Rough time of the trials on one core of this machine."""

    @property
    def running(self) -> tuple[PlannedCell, ...]:
        """The cells that are not skipped."""
        return tuple(planned for planned in self.cells if planned.cell.skipped is None)

    @property
    def baseline(self) -> Architecture | None:
        """The architecture of the baseline cell; None where its values do not go together."""
        return next(p.cell for p in self.cells if p.cell.levels == self.grid.baseline).architecture

    @property
    def trials(self) -> int:
        """Cells that run, times seeds."""
        return len(self.running) * len(self.grid.seeds)

    def document(self) -> dict[str, Any]:
        """What `plan --json` prints."""
        counts = [p.parameters for p in self.running if p.parameters is not None]
        return {
            "cells": len(self.cells),
            "trials": self.trials,
            "skipped": [
                {"cell": planned.cell.label, "reason": planned.cell.skipped}
                for planned in self.cells
                if planned.cell.skipped is not None
            ],
            "parameters": {
                "min": min(counts, default=None),
                "max": max(counts, default=None),
            },
            "flops": self.flops,
            "seconds": self.seconds,
            "memory": {
                "limit": self.memory,
                "too_large": [
                    {"cell": planned.cell.label, "measure": name, "bytes": needed}
                    for planned in self.running
                    for name, needed in planned.least_bytes.items()
                    if needed > self.memory
                ],
            },
        }

    @property
    def memory(self) -> int:
        """Bytes that a trial may use, with a worker a core where the grid leaves it to those."""
        return self.grid.memory or memory_share(usable_cores())

    @property
    def _origin_of_memory(self) -> str:
        if self.grid.memory is not None:
            return "as the grid says" if SEEN else "as the grid says; it is not enforced here"
        if not SEEN:
            return "not enforced here: only Linux shows what a trial uses"
        return f"this machine's for each of {usable_cores()} workers"

    @property
    def flops(self) -> float:
        """Of all trials together."""
        return sum(planned.flops or 0.0 for planned in self.running) * len(self.grid.seeds)

    def text(self) -> str:
        """The same for a person, with every value of the model, given or default."""
        document = self.document()
        grid = self.grid
        lines = [
            f"{grid.name}: {document['cells']} cells × {len(grid.seeds)} seeds, "
            f"{self.trials} trials",
            *(f"  {factor.name}: {_levels(grid, factor)}" for factor in grid.factors),
            f"measures: {', '.join(measure.choice.label for measure in grid.measures)}",
        ]
        if document["parameters"]["min"] is not None:
            weights = max(p.weight_bytes or 0 for p in self.running)
            lines += [
                f"parameters: {document['parameters']['min']:,} to "
                f"{document['parameters']['max']:,}",
                f"computation: {self.flops:.3g} FLOPs (a multiply-add is 2), about "
                f"{duration(self.seconds)} on one core",
                f"memory: weights and gradients of the largest trial {in_words(weights)} "
                "a worker, in float32",
                f"memory limit: {in_words(self.memory)} a trial, {self._origin_of_memory}",
            ]
        lines += [
            f"too large: {one['cell']}: {one['measure']} {refusal(one['bytes'], self.memory)}"
            for one in document["memory"]["too_large"]
        ]
        by_reason: dict[str, list[str]] = {}
        for skipped in document["skipped"]:
            by_reason.setdefault(skipped["reason"], []).append(skipped["cell"])
        for reason, labels in by_reason.items():
            lines.append(f"skipped: {line(reason)}")
            lines += [f"  {label}" for label in labels]
        lines.append("settings:")
        lines += [f"  {s.key}: {s.value} ({s.origin})" for s in grid.settings()]
        return "\n".join(lines)


def plan(grid: Grid, *, catalog: Catalog | None = None) -> Plan:
    """Work a grid out without measuring anything.

    Raises: GridError when every cell of a level is skipped, two cells are the same, a factor has no
    effect on what is counted, an option none on its measure, or a measure is to compare with a
    baseline cell that cannot be.
    """
    catalog = catalog or grid.catalog
    planned = [_plan_cell(cell, grid) for cell in cells(grid, catalog)]
    check_levels(grid, [entry.cell for entry in planned])
    running = [entry.cell for entry in planned if entry.cell.skipped is None]
    unused = unused_faults(grid, (choice for cell in running for choice in cell.measures))
    if unused:
        raise grid.document.error(unused)
    if grid.static and all(entry.parameters is not None for entry in planned):
        _check_effects(grid, planned)
    seconds = _estimate_seconds(planned) * len(grid.seeds)
    worked_out = Plan(grid=grid, catalog=catalog, cells=tuple(planned), seconds=seconds)
    _check_baseline(worked_out)
    return worked_out


def _levels(grid: Grid, factor: Any) -> str:
    baseline = grid.baseline[factor.name]
    return ", ".join(
        f"{level.label} (baseline)" if level.label == baseline else level.label
        for level in factor.levels
    )


def _context(cell: Cell) -> TrialContext:
    assert cell.architecture is not None, "a cell without an architecture is skipped"
    trial = Trial(cell=cell.cell, seed=0, architecture=cell.architecture, measures=())
    return TrialContext(trial)


def _plan_cell(cell: Cell, grid: Grid) -> PlannedCell:
    if cell.skipped is not None or cell.architecture is None:
        return PlannedCell(cell=cell)
    try:
        measures = [(choice.name, choice.load()(**choice.options)) for choice in cell.measures]
        for name, measure in measures:
            refuse = getattr(measure, "unsupported", None)
            refusal = refuse(cell.architecture) if refuse else None
            if refusal:
                raise Incompatible(f"measure {name!r}: {refusal}")
        decoder = _context(cell).skeleton()
    except Incompatible as reason:
        return PlannedCell(cell=replace(cell, skipped=str(reason)))
    except MissingExtra:
        raise
    except (Exception, SystemExit):
        # What cannot be built is measured all the same: its trials fail, each with its message in
        # the report, and the other cells run.
        return PlannedCell(cell=cell)
    flops = sum(_flops(measure, decoder) for _, measure in measures)
    parameters = sum(parameter.numel() for parameter in decoder.parameters())
    decoder.to(dtype_of(grid.dtype))
    least = {name: _least_bytes(measure, decoder) for name, measure in measures}
    return PlannedCell(cell=cell, parameters=parameters, flops=flops, least_bytes=least)


def _check_baseline(plan: Plan) -> None:
    """Refuse a measure that builds the baseline cell where that has no architecture.

    Raises: GridError with every such measure.
    """
    if plan.baseline is not None:
        return
    (reason,) = {p.cell.skipped for p in plan.cells if p.cell.levels == plan.grid.baseline}
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


def _check_effects(grid: Grid, planned: Sequence[PlannedCell]) -> None:
    """Refuse a factor that changes nothing that is counted, where all is known from shapes.

    Raises: GridError with every such factor.
    """
    counted: dict[str, tuple[Measurement, ...] | None] = {}

    def alike(one: Cell, other: Cell) -> bool:
        for cell in (one, other):
            if cell.cell not in counted:
                counted[cell.cell] = _counted(cell)
        found = counted[one.cell]
        return found is not None and found == counted[other.cell]

    faults = []
    for factor in grid.factors:
        groups: dict[tuple[str, ...], list[Cell]] = {}
        for entry in planned:
            others = tuple(v for k, v in entry.cell.levels.items() if k != factor.name)
            groups.setdefault(others, []).append(entry.cell)
        # The first pair that differs ends the search, so that few cells are counted.
        pairs = ((group[0], one) for group in groups.values() for one in group[1:])
        if len(factor.levels) > 1 and all(alike(*pair) for pair in pairs):
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


def _flops(measure: Any, decoder: Decoder) -> float:
    estimate = getattr(measure, "flops", None)
    return float(estimate(decoder)) if estimate is not None else 0.0


def _least_bytes(measure: Any, decoder: Decoder) -> int:
    estimate = getattr(measure, "least_bytes", None)
    return int(estimate(decoder)) if estimate is not None else 0


def _estimate_seconds(planned: Sequence[PlannedCell]) -> float:
    """Of one trial a cell: FLOPs over the rate of a matrix product here, plus drawing the weights.

    Small products and everything between them run at about half the rate of a large one, and
    each weight is drawn twice: by its constructor and by its initializer.
    """
    computing = [entry for entry in planned if entry.flops]
    if not computing:
        return 0.0
    flops_a_second, draws_a_second = rates()
    return sum(
        2 * (entry.flops or 0.0) / flops_a_second + 2 * (entry.parameters or 0) / draws_a_second
        for entry in computing
    )
