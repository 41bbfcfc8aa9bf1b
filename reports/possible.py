"""How large a difference can be: that of two shares is never more than all of them.

Shapes: M metrics, K cells in a group.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.panel import Panel

Floats = NDArray[np.float64]


def largest_difference(data: Panel, n_cells: int) -> Floats:
    """(M,) what no difference over groups of so many cells exceeds; infinite if unknown.

    A metric is a share where its unit says so ("share", "share of trials") and no value denies it.
    Of two cells it differs by 1 at most; of four, a difference of differences, by 2.
    """
    unit = data.info["unit"].astype(str)
    share = (unit == "share") | unit.str.startswith("share of ")
    share &= data.info["scale"] == "linear"
    with np.errstate(invalid="ignore"):
        beyond = ((data.values < 0) | (data.values > 1)).any(axis=(1, 2))
    return np.where(share.to_numpy(dtype=bool) & ~beyond, n_cells / 2, np.inf)


def clipped(ends: Floats, table: pd.DataFrame) -> Floats:
    """Ends of intervals as far as differences can go; an interval that is clipped still covers.

    ``largest`` of the table is `largest_difference`.
    """
    largest = table["largest_difference"].to_numpy(dtype=np.float64)
    return np.asarray(np.clip(ends, -largest, largest), dtype=np.float64)
