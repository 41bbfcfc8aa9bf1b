"""What a plan keeps of each of a million cells: a few numbers, from which the rest is told."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from ablations.design import Cell
from ablations.estimating import PlannedCell
from ablations.rates import rates


class Survey:
    """The cells of a grid as they were planned, in order."""

    def __init__(self, planned: Iterable[PlannedCell]) -> None:
        self._planned = planned
        self.running = array("l")
        """The numbers of the cells that are run."""
        self._skipped = array("l")
        self._reasons: dict[str, int] = {}
        self._why = array("l")
        self.least: int | None = None
        self.most: int | None = None
        """Parameters of the smallest and of the largest cell that runs and can be counted."""
        self.counted = 0
        self._flops = array("d")
        self._parameters = array("d")
        self._bytes = array("d")

    def cells(self) -> Iterator[Cell]:
        """Each cell, once it is planned and noted."""
        for number, entry in enumerate(self._planned):
            self._note(number, entry)
            yield entry.cell

    def _note(self, number: int, entry: PlannedCell) -> None:
        if entry.cell.skipped is not None:
            self._skipped.append(number)
            self._why.append(self._reasons.setdefault(entry.cell.skipped, len(self._reasons)))
            return
        self.running.append(number)
        self._flops.append(entry.flops or 0.0)
        self._parameters.append(entry.parameters or 0)
        self._bytes.append(max(entry.least_bytes.values(), default=0))
        if entry.parameters is not None:
            self.counted += 1
            self.least = min(self.least or entry.parameters, entry.parameters)
            self.most = max(self.most or 0, entry.parameters)

    def skipped(self) -> Iterator[tuple[int, str]]:
        """The number of each cell that is not run, and why."""
        reasons = list(self._reasons)
        return ((n, reasons[why]) for n, why in zip(self._skipped, self._why, strict=True))

    @property
    def flops(self) -> float:
        """Of one trial a cell."""
        return sum(self._flops)

    def seconds(self, limit: int) -> float:
        """Of one trial a cell: FLOPs over the rate of a matrix product here, and drawing weights.

        Small products and everything between them run at about half the rate of a large one. That
        cells share the weights that they draw alike is left out, and so is every cell that needs
        more than `limit` bytes of memory.
        """
        if not any(self._flops):
            return 0.0
        flops_a_second, draws_a_second = rates()
        return sum(
            2 * flops / flops_a_second + parameters / draws_a_second
            for flops, parameters, held in zip(
                self._flops, self._parameters, self._bytes, strict=True
            )
            if flops and held <= limit
        )

    @property
    def largest(self) -> int:
        """The bytes that the largest measure of a cell needs at least."""
        return int(max(self._bytes, default=0))

    def fitting(self, limit: int) -> int:
        """How many cells need no more than so many bytes."""
        return sum(held <= limit for held in self._bytes)

    def at_least(self, needed: int) -> list[int]:
        """The numbers of the cells that need so many bytes, or nearly."""
        near = needed * (1 - 1e-9)  # they are kept as floats
        return [n for n, held in zip(self.running, self._bytes, strict=True) if held >= near]
