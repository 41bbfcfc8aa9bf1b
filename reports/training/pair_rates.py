"""At which learning rates levels are set against each other.

At a single rate a level may win only since that rate suits it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from reports.frames import Frames
from reports.pairs import pairs
from reports.training.names import LEARNING_RATE
from reports.wording import counted

Rates = Mapping[tuple[str, str], Sequence[str]]
"""By factor and level."""


def pair_rates(frames: Frames) -> Rates:
    """The learning rates of the trainings in which each level is compared, in no order.

    Left out are levels of the rate itself, levels without a pair, and all where a run does not say
    which rate it had.
    """
    if LEARNING_RATE in frames.cells:
        of_cell = frames.cells[LEARNING_RATE].to_numpy(dtype=object)
    else:
        said = frames.settings.loc[frames.settings["key"] == LEARNING_RATE, "value"]
        if said.empty:
            return {}
        of_cell = np.full(len(frames.cells), said.iloc[0], dtype=object)
    return {
        (contrast.names["factor"], contrast.names["level"]): sorted(set(of_cell[contrast.cells[0]]))
        for contrast in pairs(frames)
        if contrast.names["factor"] != LEARNING_RATE and contrast.cells.size
    }


def only_rate(rates: Rates) -> str | None:
    """The rate at which all levels are compared, or None where they are at several."""
    all_of_them = {rate for several in rates.values() for rate in several}
    return all_of_them.pop() if len(all_of_them) == 1 else None


def in_words(rates: Sequence[str]) -> str:
    """``averaged over 3 learning rates`` or ``at one learning rate, 0.001``."""
    if len(rates) == 1:
        return f"at one learning rate, {rates[0]}"
    return f"averaged over {counted(len(rates), 'learning rate')}"
