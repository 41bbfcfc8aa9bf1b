"""At which learning rates the trainings are that levels are compared in.

At a single rate a level may win only since that rate suits it.

Shapes: C cells, P pairs, S seeds.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reports.estimates import complete_block
from reports.frames import Frames
from reports.pairs import Contrast, pairs
from reports.panel import Panel
from reports.quadruples import quadruples
from reports.training.names import FINAL_LOSS, LEARNING_RATE, MEASURE
from reports.training.outcomes import learning_rates
from reports.wording import counted, listed

Rates = tuple[str, ...]
"""Levels from small to large."""


class PairRates:
    """The rates of a run's effects, by the pairs of cells that each of them rests on."""

    def __init__(self, frames: Frames, data: Panel) -> None:
        """``data`` is `reports.panel.panel` of the run."""
        self._frames = frames
        self._data = data
        info = data.info
        self._places = {
            str(metric): place
            for place, (metric, measure) in enumerate(
                zip(info["metric"], info["measure"], strict=True)
            )
            if measure == MEASURE
        }
        self.of_cell = _of_cell(frames)
        """(C,) the rate of each cell; empty where the run does not say it."""
        self.all = tuple(learning_rates(frames)) or tuple(sorted(set(self.of_cell)))
        """Those of the run."""

    def of(
        self, metric: str, factor: str, level: str, factor_2: str = "", level_2: str = ""
    ) -> Rates:
        """The rates of an effect, or of an interaction.

        None of what the rate itself does, of what is not trained, and where no pair could be used.
        """
        place = self._places.get(metric)
        if place is None or not len(self.of_cell):
            return ()
        cells = self._cells.get((factor, level, factor_2, level_2))
        if cells is None and factor_2:
            cells = self._cells_of_four.get((factor, level, factor_2, level_2))
        if cells is None:
            return ()
        return used(self.of_cell, self._data.usable[place], cells, self.all)

    def of_levels(self, metric: str = FINAL_LOSS) -> dict[str, set[Rates]]:
        """By factor: the rates at which its levels are compared on a metric."""
        found: dict[str, set[Rates]] = {}
        for factor, level, _, _ in self._cells:
            if rates := self.of(metric, factor, level):
                found.setdefault(factor, set()).add(rates)
        return found

    @property
    def only(self) -> str | None:
        """The rate at which the final losses of all levels are compared, if it is a single one."""
        found = {rate for of_one in self.of_levels().values() for rates in of_one for rate in rates}
        return found.pop() if len(found) == 1 else None

    @property
    def varied(self) -> bool:
        """Whether the rate is a factor itself."""
        return LEARNING_RATE in self._frames.cells

    @property
    def whose(self) -> str:
        """Whose rates these are: of all levels, or but for those of the rate itself."""
        return "levels of other factors" if self.varied else "levels"

    def in_words(self, rates: Rates) -> str:
        """`in_words` of some of the run's rates."""
        return in_words(rates, len(self.all))

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str, str], NDArray[np.intp]]:
        return _by_names(pairs(self._frames))

    @cached_property
    def _cells_of_four(self) -> dict[tuple[str, str, str, str], NDArray[np.intp]]:
        return _by_names(quadruples(self._frames))


def used(
    of_cell: NDArray[np.object_],
    usable: NDArray[np.bool_],
    cells: NDArray[np.intp],
    order: Sequence[str],
) -> Rates:
    """The rates of the groups of cells (K, P) that an estimate rests on.

    Args:
        of_cell: (C,) rates.
        usable: (C, S) where a value may be compared.
        cells: (K, P) rows of cells.
        order: All rates, as they are to be told.
    """
    groups, _ = complete_block(np.all(usable[cells], axis=0))
    found = set(of_cell[cells[:, groups]].ravel())
    return tuple(rate for rate in order if rate in found)


def in_words(rates: Rates, n_all: int) -> str:
    """``at learning rate 0.001 alone``, or over which of a run's ``n_all`` rates is averaged."""
    if len(rates) == 1:
        return f"at learning rate {rates[0]} alone"
    if len(rates) == n_all:
        return f"averaged over {counted(n_all, 'learning rate')}"
    return f"averaged over learning rates {listed(list(rates), n_all)}"


def _by_names(
    contrasts: Sequence[Contrast],
) -> dict[tuple[str, str, str, str], NDArray[np.intp]]:
    """The cells of each that is not about the rate itself."""
    named = ("factor", "level", "factor_2", "level_2")
    found = {}
    for contrast in contrasts:
        factor, level, factor_2, level_2 = (contrast.names.get(name, "") for name in named)
        if LEARNING_RATE not in (factor, factor_2):
            found[factor, level, factor_2, level_2] = contrast.cells
    return found


def _of_cell(frames: Frames) -> NDArray[np.object_]:
    if LEARNING_RATE in frames.cells:
        return np.asarray(frames.cells[LEARNING_RATE], dtype=object)
    said = frames.settings.loc[frames.settings["key"] == LEARNING_RATE, "value"]
    if said.empty:
        return np.empty(0, dtype=object)
    return np.full(len(frames.cells), said.iloc[0], dtype=object)
