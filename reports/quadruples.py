"""Cells that differ in two factors alone: what one level does, with and without another.

Shapes: C cells, P quadruples.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reports.frames import Frames
from reports.pairs import Contrast, equal_rows, level_codes, levels_by_factor


def quadruples(frames: Frames) -> list[Contrast]:
    """The quadruples of each two levels of two factors, in the grid's order.

    Their cells are (level, level_2), (reference, level_2), (level, reference_2) and (reference,
    reference_2); ``names`` has ``factor_2``, ``level_2`` and ``reference_2`` too. Of two factors
    the one that stands earlier in the grid is ``factor``. Two levels without a single quadruple are
    listed too, with empty arrays.
    """
    levels = levels_by_factor(frames)
    codes = level_codes(frames)
    found: list[Contrast] = []
    for (i, one), (j, two) in combinations(enumerate(levels), 2):
        group = equal_rows(np.delete(codes, (i, j), axis=1))
        n_levels = len(levels[one]), len(levels[two])
        cells = _with_partners(group, codes[:, i], codes[:, j], n_levels)  # (4, P)
        place = codes[cells[0], i] * n_levels[1] + codes[cells[0], j]  # which two levels, (P,)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(n_levels[0] * n_levels[1] + 1))
        for a, level in enumerate(levels[one][1:], start=1):
            for b, level_2 in enumerate(levels[two][1:], start=1):
                here = a * n_levels[1] + b
                names = {
                    "factor": one,
                    "level": level,
                    "reference": levels[one][0],
                    "factor_2": two,
                    "level_2": level_2,
                    "reference_2": levels[two][0],
                }
                chosen = order[starts[here] : starts[here + 1]]
                found.append(Contrast(names=names, cells=cells[:, chosen]))
    return found


def _with_partners(
    group: NDArray[np.intp],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    n_levels: tuple[int, int],
) -> NDArray[np.intp]:
    """(4, P) every cell at neither baseline (0) of two factors, with its three partners.

    A dense table of groups by levels would be huge where a design is sparse: cells are looked up by
    a sorted key instead.
    """

    def key(one: NDArray[np.intp] | int, two: NDArray[np.intp] | int) -> NDArray[np.intp]:
        return np.asarray((group * n_levels[0] + one) * n_levels[1] + two, dtype=np.intp)

    keys = key(first, second)
    order = np.argsort(keys)
    known = keys[order]
    full = np.flatnonzero((first > 0) & (second > 0))
    members = [full]
    whole = np.ones(len(full), dtype=bool)
    for wanted in (key(0, second), key(first, 0), key(0, 0)):
        at = np.minimum(np.searchsorted(known, wanted[full]), len(known) - 1)
        whole &= known[at] == wanted[full]
        members.append(order[at])
    return np.stack(members)[:, whole]
