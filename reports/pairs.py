"""Cells that differ in one factor alone.

Shapes: C cells, P pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.wording import distinct


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Groups of cells that are set against each other: pairs, or two pairs each.

    Attributes:
        names: What is compared, by column of its table: ``factor``, ``level``, ``reference``.
        cells: (2 or 4, P) rows of ``frames.cells``: the cell with the level, then the one with the
            reference; of four the pair at another factor's level, then that at its reference.
    """

    names: dict[str, str]
    cells: NDArray[np.intp]


def pairs(frames: Frames) -> list[Contrast]:
    """The pairs of each factor's levels against its baseline, in the grid's order.

    A level without a single pair is listed too, with empty arrays, so that it is not lost silently.
    """
    return _contrasts(frames, lambda n_levels: [(number, 0) for number in range(1, n_levels)])


def level_pairs(frames: Frames) -> list[Contrast]:
    """The pairs of every two levels of each factor, not of each with the baseline alone."""
    return _contrasts(
        frames,
        lambda n_levels: [(later, sooner) for later in range(n_levels) for sooner in range(later)],
    )


def _contrasts(
    frames: Frames, chosen: Callable[[int], Sequence[tuple[int, int]]]
) -> list[Contrast]:
    """Pairs of the levels that are chosen, by their places in `levels_by_factor`."""
    codes = level_codes(frames)
    found: list[Contrast] = []
    for column, (factor, levels) in enumerate(levels_by_factor(frames).items()):
        group = equal_rows(np.delete(codes, column, axis=1))
        cells_at = [np.flatnonzero(codes[:, column] == number) for number in range(len(levels))]
        for number, other in chosen(len(levels)):
            partner = np.full(len(codes), -1, dtype=np.intp)  # row of the other cell, by group
            partner[group[cells_at[other]]] = cells_at[other]
            second = cells_at[number]
            first = partner[group[second]]
            paired = first >= 0
            found.append(
                Contrast(
                    names={"factor": factor, "level": levels[number], "reference": levels[other]},
                    cells=np.stack([second[paired], first[paired]]),
                )
            )
    return found


def factor_names(frames: Frames) -> list[str]:
    """The factors in the grid's order."""
    return [str(factor) for factor in frames.factors["factor"].unique()]


def ordered_levels(frames: Frames, factor: str) -> list[str]:
    """The levels of a factor in the grid's order."""
    rows = frames.factors[frames.factors["factor"] == factor]
    return [str(level) for level in rows.sort_values("position", kind="stable")["level"]]


def baseline_level(frames: Frames, factor: str) -> str:
    """The baseline level of a factor."""
    rows = frames.factors[(frames.factors["factor"] == factor) & frames.factors["baseline"]]
    return str(rows["level"].iloc[0])


def levels_by_factor(frames: Frames) -> dict[str, list[str]]:
    """The levels of every factor, its baseline first, then the others in the grid's order."""
    levels: dict[str, list[str]] = {factor: [] for factor in factor_names(frames)}
    rows = frames.factors.sort_values("position", kind="stable")
    rows = rows.sort_values("baseline", ascending=False, kind="stable")
    for factor, level in zip(rows["factor"], rows["level"], strict=True):
        levels[str(factor)].append(str(level))
    return levels


def told_levels(frames: Frames) -> dict[str, dict[str, str]]:
    """By factor: each level as it is written, shortened so that no two of a factor are alike."""
    return {factor: distinct(levels) for factor, levels in levels_by_factor(frames).items()}


def level_codes(frames: Frames) -> NDArray[np.intp]:
    """(C, factors) the place of each cell's level in `levels_by_factor`: 0 for the baseline."""
    levels = levels_by_factor(frames)
    codes = np.empty((len(frames.cells), len(levels)), dtype=np.intp)
    for column, (factor, known) in enumerate(levels.items()):
        codes[:, column] = pd.Index(known).get_indexer(pd.Index(frames.cells[factor]))
    return codes


def equal_rows(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """(C,) equal numbers for equal rows, from 0."""
    key = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:  # a number a row, which sorts as the rows do
        key = np.unique(key, return_inverse=True)[1] * (column.max(initial=0) + 1) + column
    return np.unique(key, return_inverse=True)[1]
