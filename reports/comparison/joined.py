"""Two runs' panels side by side.

Shapes: M metrics, C cells, S seeds.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.panel import Panel


def in_order_of(one: Panel, other: Panel) -> Panel:
    """The second panel with its metrics in the order of the first; both have the same."""
    order = pd.Index(other.info["metric"]).get_indexer(pd.Index(one.info["metric"]))
    assert (order >= 0).all()
    return other.at(order)


def joint(one: Panel, other: Panel) -> Panel:
    """Both runs as one, the cells of the second after those of the first, over common seeds."""
    seeds, at_one, at_other = np.intersect1d(one.seeds, other.seeds, return_indices=True)

    def joined(name: str) -> "np.ndarray":
        parts = (getattr(one, name)[:, :, at_one], getattr(other, name)[:, :, at_other])
        return np.concatenate(parts, axis=1)

    spread = None
    if one.spread is not None or other.spread is not None:
        spread = np.concatenate([_spread(one), _spread(other)], axis=1)
    return Panel(
        info=one.info,
        seeds=seeds,
        values=joined("values"),
        reason=joined("reason"),
        exact=one.exact & other.exact,
        diverged=joined("diverged"),
        spread=spread,
    )


def _spread(data: Panel) -> NDArray[np.float64]:
    return np.ones(data.values.shape[:2]) if data.spread is None else data.spread
