"""How often a level beats its reference, with what diverged ranked last."""

import numpy as np
from numpy.typing import NDArray

from reports.estimates import RESOLUTION
from reports.panel import Panel
from reports.variation import ROUNDING


def win_rates(
    data: Panel, cells: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Of every metric (M,): the share of paired observations won, and how many were ranked.

    An observation is a pair in a seed; a tie, as far as measured values tell, counts half. A value
    that diverged (the measure did, or it is not finite) is worse than any other and ties with
    another one. Pairs of which either member is neither usable nor diverged are left out. NaN, and
    none ranked, for a metric of which neither direction is better.

    Args:
        data: The metrics of a run.
        cells: (2, P) rows of cells: the level, then the reference.
    """
    better = data.info["better"].to_numpy()
    sign = np.select([better == "higher", better == "lower"], [1.0, -1.0], default=0.0)
    level, reference = (data.values[:, row] for row in cells)  # (M, P, S)
    lost, other_lost = (data.diverged[:, row] for row in cells)
    usable, other_usable = (data.reason[:, row] == 0 for row in cells)
    difference = sign[:, None, None] * (level - reference)
    size = np.maximum(np.abs(level), np.abs(reference))
    log = (data.info["scale"] == "log").to_numpy(dtype=bool)
    size[log] = np.maximum(size[log], 1.0)
    least = np.where(data.exact, ROUNDING, RESOLUTION)[:, None, None] * size
    score = 0.5 + 0.5 * np.sign(np.where(np.abs(difference) <= least, 0.0, difference))
    score = np.where(lost | other_lost, 0.5 + 0.5 * (other_lost * 1.0 - lost), score)
    ranked = (usable | lost) & (other_usable | other_lost) & (sign != 0)[:, None, None]
    count = ranked.sum(axis=(1, 2))
    won = np.where(ranked, score, 0.0).sum(axis=(1, 2))
    rate = np.divide(won, count, out=np.full(len(count), np.nan), where=count > 0)
    return rate, count
