"""At which learning rates the trainings are in which two runs' effects are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reports.panel import Panel
from reports.training.compared import Compared
from reports.training.pair_rates import in_words, used


class ComparedRates:
    """Those of two runs, over the pairs that both have or over each one's own."""

    def __init__(
        self,
        runs: Sequence[Compared],
        both: Panel,
        common: Mapping[tuple[str, str], NDArray[np.intp]],
    ) -> None:
        """What they rest on.

        Args:
            runs: The two of them.
            both: `reports.comparison.joined.joint` of their panels.
            common: By factor and level (4, P) the rows of ``both`` of pairs that both runs have.
        """
        self._runs = runs
        self._both = both
        self._common = common
        self._metrics = both.info["metric"].to_list()
        rates = [run.pair_rates for run in runs]
        self._of_cell = np.concatenate([one.of_cell for one in rates])
        self._all = tuple(dict.fromkeys(rate for one in rates for rate in one.all))

    def told(self, row: Any, *, paired: bool) -> str:
        """The rates of a row with ``factor``, ``level`` and ``metric``.

        ``""`` of what is not trained, of the rate itself, and where a run does not say its rates.
        """
        own = [run.pair_rates.of(row.metric, row.factor, row.level) for run in self._runs]
        if not all(own):
            return ""
        if paired:
            usable = self._both.usable[self._metrics.index(row.metric)]
            cells = self._common[row.factor, row.level]
            rates = used(self._of_cell, usable, cells, self._all)
            return in_words(rates, len(self._all)) if rates else ""
        first, second = (in_words(rates, len(self._all)) for rates in own)
        return first if first == second else f"first run {first}, second run {second}"
