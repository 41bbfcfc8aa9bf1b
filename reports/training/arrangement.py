"""Which factors a figure of trainings tells by rows, columns and colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from reports.frames import Frames
from reports.pairs import ordered_levels
from reports.training.names import LEARNING_RATE


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """Factors by where they are told, each ``""`` without one.

    Attributes:
        row: By rows of panels.
        column: By columns of panels.
        hue: By colours.
        over: The other factors that are varied, which nothing tells apart.
    """

    row: str = ""
    column: str = ""
    hue: str = ""
    over: tuple[str, ...] = ()

    @property
    def told(self) -> dict[str, str]:
        """The factors that are told, by where."""
        places = {"row": self.row, "column": self.column, "hue": self.hue}
        return {place: factor for place, factor in places.items() if factor}


def arrange(cells: pd.DataFrame, ranking: Sequence[str], slots: Mapping[str, int]) -> Arrangement:
    """Give factors their places, the most influential first; the learning rate has its own.

    Args:
        cells: The rows of ``frames.cells`` that are drawn.
        ranking: Factors, the most influential first.
        slots: ``row``, ``column`` and ``hue`` in the order in which they are given away, each with
            how many levels it can hold.
    """
    free = dict(slots)
    given: dict[str, str] = {}
    over: list[str] = []
    for factor in ranking:
        n_levels = cells[factor].nunique()
        if factor == LEARNING_RATE or n_levels < 2:
            continue
        slot = next((name for name, most in free.items() if n_levels <= most), None)
        if slot is None:
            over.append(factor)
        else:
            given[slot] = factor
            del free[slot]
    return Arrangement(**given, over=tuple(over))


def present_levels(frames: Frames, cells: pd.DataFrame, factor: str) -> list[str]:
    """The levels of a factor that some of the cells have, in the grid's order; else one ``""``."""
    if not factor:
        return [""]
    held = set(cells[factor])
    return [level for level in ordered_levels(frames, factor) if level in held]


def level_of(cells: pd.DataFrame, factor: str) -> "pd.Series[str]":
    """The level of each cell, ``""`` without a factor."""
    if factor:
        return cells[factor].astype(object)
    return pd.Series("", index=cells.index, dtype=object)
