"""Pairs that a level leaves as they are in every seed, where it moves others.

Shapes: P pairs of cells, S seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.estimates import on_a_grid
from reports.variation import ROUNDING, Codes, telling_factor
from reports.within import Within, effects_within

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SEEDS = 3
"""As many seeds must agree where none moves a pair: it may be at the end of what is possible."""


@dataclass(frozen=True, kw_only=True)
class Still:
    """How the pairs that stay as they are stand to those that are moved.

    Attributes:
        factor: The factor at each of whose levels all pairs stay or all are moved, if there is one.
        within: `reports.within.effects_within` by it, or by pairs.
        n_moved: At how many of its levels pairs are moved, or how many pairs are.
    """

    factor: str
    within: Within
    n_moved: int


def still_pairs(values: Floats, difference: Floats) -> Mask:
    """(P,) the pairs whose (P, S) differences are 0 in every seed, where that cannot be chance.

    None with one seed, none of a metric whose ``values`` (2, P, S) lie on a grid, as of those
    seeds often agree, and no pair that fewer than three seeds left where no seed moves it.
    """
    n_seeds = difference.shape[1]
    still = ~difference.any(axis=1)
    if n_seeds < _SEEDS:
        still &= np.ptp(values[1], axis=1) > ROUNDING * np.abs(values[1]).max(axis=1)
    if n_seeds < 2 or not still.any() or on_a_grid(values):
        return np.zeros(len(difference), dtype=bool)
    return np.asarray(still, dtype=bool)


def set_apart(
    still: Mask, difference: Floats, levels: Mapping[str, Codes], n_levels: Mapping[str, int]
) -> Still | None:
    """What tells pairs that stay (P,) from those that are moved; None where all are alike.

    Args:
        still: `still_pairs`.
        difference: (P, S) what the level changes.
        levels: For each other factor the level of every pair (P,).
        n_levels: How many levels each has.
    """
    if still.all() or not still.any():
        return None
    factor = telling_factor(still.astype(np.float64), 1.0, levels)
    if not factor:
        return Still(factor="", within=effects_within(difference), n_moved=int((~still).sum()))
    return Still(
        factor=factor,
        within=effects_within(difference, levels[factor], n_levels[factor]),
        n_moved=len(np.unique(levels[factor][~still])),
    )


def certain(
    table: pd.DataFrame, varies: Mask, told: Floats, shown: Mask, own: Floats
) -> tuple[pd.DataFrame, Floats]:
    """The rows that vary for certain, with what tells their pairs apart, and their ``told``.

    An effect that is shown, and is none in some pairs, is another in the others: that needs no
    test. Means of seeds over the pairs that are moved are a multiple of those over all, so that
    where they have one level, or are one pair, the interval there is that of the main effect, at
    its own level. Where an effect is not shown, what moves the others may be noise.

    Args:
        table: `reports.effects.pair_estimates`.
        varies: Rows of which a test says that they do.
        told: The error rate of what is looked at inside each row.
        shown: Rows whose effect is beyond noise.
        own: The level of each row's interval.
    """
    still = table["still"].to_numpy(dtype=object)
    factor = table["varies_with"].to_numpy(dtype=object).copy()
    within = table["within"].to_numpy(dtype=object).copy()
    told = told.copy()
    for row in np.flatnonzero(shown & table["still"].notna().to_numpy(dtype=bool)):
        if varies[row] and factor[row]:
            continue  # the test has named the factor that tells the most
        factor[row], within[row] = still[row].factor, still[row].within
        if still[row].n_moved == 1:
            told[row] = own[row] * still[row].within[2]
    return table.assign(varies_with=factor, within=within), told
