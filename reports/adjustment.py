"""Intervals of a whole table, adjusted for how many of them there are."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.intervals import half_widths, p_values
from reports.possible import clipped
from reports.variation import ROUNDING

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Adjust = Callable[[Floats], tuple[Floats, Mask]]
"""From p-values to the levels of their intervals, and which hypotheses are rejected."""

Family = tuple[Mask, Adjust]
"""Rows of a table that are looked at together, and how they are adjusted."""


def with_intervals(table: pd.DataFrame, families: Sequence[Family]) -> pd.DataFrame:
    """`reports.estimates.estimates` with intervals in the place of means and errors.

    ``estimate``, ``low``, ``high``, ``pair_low`` and ``pair_high`` are differences in the metric's
    unit on a linear scale, ratios on a log scale; ``within_noise`` says that the interval contains
    no effect. An exact metric's interval has no width, and that of a share ends where shares do
    (`reports.possible`). Where there is none (`estimated_rows`) its
    ends are NaN, and ``within_noise`` is NA.
    """
    mean = table["mean"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    degrees = table["n_seeds"].to_numpy(dtype=np.float64) - 1
    exact, estimated = exact_rows(table), estimated_rows(table)
    levels, rejected = judged(table, families)

    half = np.full(len(table), np.nan)
    half[exact] = 0.0
    half[estimated] = half_widths(error[estimated], degrees[estimated], levels[estimated])
    noise = pd.array([pd.NA] * len(table), dtype="boolean")
    noise[exact] = mean[exact] == 0
    noise[estimated] = ~rejected[estimated]

    log = (table["scale"] == "log").to_numpy(dtype=bool)
    bounds = {
        "estimate": mean,
        "low": clipped(mean - half, table),
        "high": clipped(mean + half, table),
        "pair_low": table["smallest"].to_numpy(dtype=np.float64),
        "pair_high": table["largest"].to_numpy(dtype=np.float64),
    }
    with np.errstate(over="ignore"):  # a bound too wide for a float is infinite
        columns = {name: np.where(log, np.exp(bound), bound) for name, bound in bounds.items()}
    worked = ["mean", "error", "steady", "smallest", "largest", "largest_difference"]
    return table.drop(columns=worked).assign(**columns, within_noise=noise)


def judged(table: pd.DataFrame, families: Sequence[Family]) -> tuple[Floats, Mask]:
    """The level of each row's interval, NaN where it has none, and whether it excludes no effect.

    Rows are those of `reports.estimates.estimates`; each is of one family at most.
    """
    mean = table["mean"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    degrees = table["n_seeds"].to_numpy(dtype=np.float64) - 1
    estimated = estimated_rows(table)
    levels, rejected = np.full(len(table), np.nan), np.zeros(len(table), dtype=bool)
    for rows, adjust in families:
        family = rows & estimated
        p = p_values(mean[family], error[family], degrees[family])
        levels[family], rejected[family] = adjust(p)
    return levels, rejected


def exact_rows(table: pd.DataFrame) -> Mask:
    """Rows of a metric that no seed changes, with an estimate."""
    exact = table["exact"].to_numpy(dtype=bool)
    return np.asarray(exact & np.isfinite(table["mean"].to_numpy(dtype=np.float64)), dtype=bool)


def estimated_rows(table: pd.DataFrame) -> Mask:
    """Rows that have an interval: more than one seed, not exact, and seeds that scatter.

    Where seeds change the metric elsewhere, but do not scatter here, that a few of them agree is no
    measure of how sure they are: on a metric of few values they often do. No scatter is needed
    where nothing at all is changed, or where seeds change the values and never the difference.
    """
    mean = table["mean"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    steady = (table["unchanged"] | table["steady"]).to_numpy(dtype=bool)
    scatters = steady | (error > ROUNDING * np.abs(mean))
    return np.asarray(np.isfinite(error) & scatters & ~exact_rows(table), dtype=bool)
