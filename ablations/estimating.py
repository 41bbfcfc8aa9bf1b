"""A cell before it is run: whether it can be, and what its shapes tell of what it will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ablations.architecture import Architecture
from ablations.counting.outline import BROKEN, Outlines
from ablations.counting.part import Refused
from ablations.decoder import skeleton
from ablations.design import Cell
from ablations.recall import Recall, Situation, watched_architecture
from ablations.sizes import Sized, dtype_of
from ablations.strangers import is_ours
from registry.errors import Incompatible, MissingExtra
from registry.spec import Choice

MOST = 4_096
"""Measures that are kept at most: options that factors vary may have a million combinations."""

FITS = Refused(reason="")


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A cell and what its shapes tell; None where it is skipped or cannot be built here.

    `parameters` counts unique ones; `flops` is what one trial's measures compute (a multiply-add is
    2, attention over all T² pairs), `least_bytes`, by measure, the memory without which it cannot
    be done.
    """

    cell: Cell
    parameters: int | None = None
    flops: float | None = None
    least_bytes: Mapping[str, int] = field(default_factory=dict)


class Estimator:
    """Plans the cells of a grid in the type that it runs in."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype_of(dtype)
        self._outlines = Outlines(self._dtype)
        self._measures: dict[int, _Measure] = {}

    def planned(self, cell: Cell) -> PlannedCell:
        """What is known of a cell. Raises: MissingExtra."""
        architecture = cell.architecture
        if cell.skipped is not None or architecture is None:
            return PlannedCell(cell=cell)
        measures = [self._measure(choice) for choice in cell.measures]
        refused = _first_refusal(measures, architecture)
        if refused is not None:
            return _refused(cell, refused)
        outline = self._outlines.of(architecture)
        if isinstance(outline, Refused):
            return _refused(cell, outline)
        # A stranger's measure may ask for more of a decoder than an outline tells.
        strange = any(measure.strange for measure in measures)
        decoder = skeleton(architecture) if strange else None
        flops = sum([m.flops(decoder if decoder and m.strange else outline) for m in measures])
        if decoder:
            decoder.to(self._dtype)
        least = {
            m.name: m.least_bytes(decoder if decoder and m.strange else outline) for m in measures
        }
        parameters = outline.sizes.parameters
        return PlannedCell(cell=cell, parameters=parameters, flops=flops, least_bytes=least)

    def _measure(self, choice: Choice) -> _Measure:
        found = self._measures.get(id(choice))
        if found is None:
            if len(self._measures) >= MOST:
                self._measures.clear()
            found = self._measures[id(choice)] = _Measure(choice)
        return found


class _Measure:
    """A measure with the options of some cells; it keeps its choice, whose id stays its own."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self.name = choice.name
        self.refused: Refused | None = None
        """Why it cannot be made with its options."""
        measure: Any = None
        try:
            measure = choice.load()(**choice.options)
        except Incompatible as reason:
            self.refused = Refused(reason=str(reason))
        except MissingExtra:
            raise
        except (Exception, SystemExit):
            self.refused = BROKEN
        self._ask = getattr(measure, "unsupported", None)
        self._asked_before = False
        self._recall: Recall[Refused] = Recall()
        self._flops = getattr(measure, "flops", None)
        self._least_bytes = getattr(measure, "least_bytes", None)
        estimates = self._flops is not None or self._least_bytes is not None
        self.strange = estimates and not is_ours(choice.target)

    def unsupported(self, situation: Situation) -> Refused | None:
        """Why a cell cannot be measured so."""
        if self._ask is None:
            return None
        found: Refused | None
        if not self._asked_before:  # most of very many measures are asked once
            self._asked_before = True
            found = self._asked(situation.architecture)
            return None if found is FITS else found
        found = self._recall.find(situation)
        if found is None:
            read: set[str] = set()
            found = self._asked(watched_architecture(situation.architecture, read))
            self._recall.keep(read, situation, found)
        return None if found is FITS else found

    def _asked(self, architecture: Architecture) -> Refused:
        try:
            reason = self._ask(architecture) if self._ask else None
        except Incompatible as incompatible:
            return Refused(reason=str(incompatible))
        except MissingExtra:
            raise
        except (Exception, SystemExit):
            return BROKEN
        return Refused(reason=f"measure {self.name!r}: {reason}") if reason else FITS

    def flops(self, decoder: Sized) -> float:
        """What one trial computes."""
        return float(self._flops(decoder)) if self._flops is not None else 0.0

    def least_bytes(self, decoder: Sized) -> int:
        """The memory that it needs at least."""
        return int(self._least_bytes(decoder)) if self._least_bytes is not None else 0


def _first_refusal(measures: list[_Measure], architecture: Architecture) -> Refused | None:
    for measure in measures:
        if measure.refused is not None:
            return measure.refused
    situation = Situation()
    situation.architecture = architecture
    for measure in measures:
        refused = measure.unsupported(situation)
        if refused is not None:
            return refused
    return None


def _refused(cell: Cell, refused: Refused) -> PlannedCell:
    """A cell that is skipped, or whose trials will fail, each with its message in the report."""
    if refused.reason is None:
        return PlannedCell(cell=cell)
    return PlannedCell(cell=replace(cell, skipped=refused.reason))
