"""Cells that differ in one factor alone."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Pairs of cells that differ in ``factor`` alone: one has ``level``, one ``reference``.

    Attributes:
        first: (P,) rows of ``frames.cells`` with the reference, the factor's baseline level.
        second: (P,) rows of ``frames.cells`` with the level.
    """

    factor: str
    level: str
    reference: str
    first: NDArray[np.intp]
    second: NDArray[np.intp]


def pairs(frames: Frames) -> list[Pairs]:
    """The pairs of each factor's levels against its baseline, in the grid's order.

    A level without a single pair is listed too, with empty arrays, so that it is not lost silently.
    """
    factors = list(frames.factors["factor"].unique())
    levels = {factor: ordered_levels(frames, factor) for factor in factors}
    codes = np.empty((len(frames.cells), len(factors)), dtype=np.int64)  # (C, factors)
    for column, factor in enumerate(factors):
        codes[:, column] = pd.Index(levels[factor]).get_indexer(pd.Index(frames.cells[factor]))

    found: list[Pairs] = []
    for column, factor in enumerate(factors):
        others = np.delete(codes, column, axis=1)
        group = _groups(others)
        reference = baseline_level(frames, factor)
        code = levels[factor].index(reference)
        partner = np.full(len(codes), -1, dtype=np.intp)  # row of the reference cell, by group
        at_reference = np.flatnonzero(codes[:, column] == code)
        partner[group[at_reference]] = at_reference
        for number, level in enumerate(levels[factor]):
            if number == code:
                continue
            second = np.flatnonzero(codes[:, column] == number)
            first = partner[group[second]]
            paired = first >= 0
            found.append(
                Pairs(
                    factor=factor,
                    level=level,
                    reference=reference,
                    first=first[paired],
                    second=second[paired],
                )
            )
    return found


def ordered_levels(frames: Frames, factor: str) -> list[str]:
    """The levels of a factor in the grid's order."""
    rows = frames.factors[frames.factors["factor"] == factor]
    return [str(level) for level in rows.sort_values("position", kind="stable")["level"]]


def baseline_level(frames: Frames, factor: str) -> str:
    """The baseline level of a factor."""
    rows = frames.factors[(frames.factors["factor"] == factor) & frames.factors["baseline"]]
    return str(rows["level"].iloc[0])


def _groups(codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """(C,) equal numbers for equal rows, from 0."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), dtype=np.intp)
    _, inverse = np.unique(codes, axis=0, return_inverse=True)
    return inverse.reshape(-1)
