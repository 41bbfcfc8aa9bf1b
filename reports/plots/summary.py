"""What is drawn of a profile: means and bands along depth, steps or context, by levels."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.curves import Curve, Ints, curves
from reports.frames import Frames
from reports.pairs import baseline_level, ordered_levels
from reports.plots.style import MAX_LEVELS
from reports.wording import distinct, listed, short

MAX_COLUMNS = 4


@dataclass(frozen=True, kw_only=True)
class ProfileTable:
    """What `reports.plots.profiles` draws.

    Attributes:
        rows: ``hue`` and ``column`` (levels), ``x``, ``mean``, ``low``, ``high`` (10th and 90th
            percentile over cells and seeds), ``n`` (values); ``mean`` is geometric on a log scale.
        hue: The factor told by colour, or ``""``.
        column: The factor told by panels, or ``""``.
        n_trials: Trials drawn.
        n_absent: Done trials that the profile does not apply to.
        n_cancelled: Trials that are not drawn as their probe is cancelled.
        n_lost: Other trials that were asked for and are not drawn, by state or for their values.
        left_out: Sentences on levels that are not drawn.
    """

    profile: str
    unit: str
    scale: str
    axis: str
    rows: pd.DataFrame
    hue: str
    column: str
    n_trials: int
    n_absent: int
    n_cancelled: int
    n_lost: int
    left_out: str


def profile_table(
    frames: Frames, profile: str, ranking: list[str], curve: Curve | None = None
) -> ProfileTable | None:
    """Means and spreads of one profile, or None where there is no usable value.

    Args:
        frames: The run.
        profile: Its name.
        ranking: Factors, the most influential first; the first is told by colour, the second by
            panels.
        curve: What `reports.curves.curves` has of the profile, if already computed.
    """
    data = curves(frames)[profile] if curve is None else curve
    if not data.n_trials:
        return None
    hue, column = (*ranking, "", "")[:2]
    kept_hues, kept_columns = _kept(frames, hue, MAX_LEVELS), _kept(frames, column, MAX_COLUMNS)
    left_out = ""
    for factor, kept in ((hue, kept_hues), (column, kept_columns)):
        if factor and len(ordered_levels(frames, factor)) > len(kept):
            names = distinct(ordered_levels(frames, factor))
            told = listed([names[level] for level in kept], 9)
            left_out += f" Of {short(factor)} only {told} are drawn."
    hues, columns = _codes(frames, data, hue, kept_hues), _codes(frames, data, column, kept_columns)
    drawn = (hues >= 0) & (columns >= 0)
    if not drawn.any():
        return None
    cell, seed = data.cell[drawn], data.seed[drawn]
    rows = _summary(columns[drawn], hues[drawn], data.x[drawn], data.value[drawn])
    if data.about.scale == "log":
        rows[["mean", "low", "high"]] = np.exp(rows[["mean", "low", "high"]])
    return ProfileTable(
        profile=profile,
        unit=data.about.unit,
        scale=data.about.scale,
        axis=data.axis,
        rows=rows.assign(
            column=pd.Series([kept_columns[code] for code in rows["column"]], dtype=object),
            hue=pd.Series([kept_hues[code] for code in rows["hue"]], dtype=object),
        ),
        hue=hue,
        column=column,
        n_trials=1 + int(((np.diff(cell) != 0) | (np.diff(seed) != 0)).sum()),
        n_absent=data.n_absent,
        n_cancelled=data.n_cancelled,
        n_lost=data.n_lost,
        left_out=left_out,
    )


def _kept(frames: Frames, factor: str, limit: int) -> list[str]:
    """The levels to draw: the baseline and the first others, in the grid's order."""
    if not factor:
        return [""]
    levels = ordered_levels(frames, factor)
    baseline = baseline_level(frames, factor)
    chosen = {baseline, *[level for level in levels if level != baseline][: limit - 1]}
    return [level for level in levels if level in chosen]


def _codes(frames: Frames, data: Curve, factor: str, levels: list[str]) -> NDArray[np.intp]:
    """(K,) which of the levels each value is under; -1: none of them."""
    if not factor:
        return np.zeros(len(data.cell), dtype=np.intp)
    code = pd.Index(levels).get_indexer(pd.Index(frames.cells[factor]))
    return np.asarray(code[data.cell], dtype=np.intp)


def _summary(column: Ints, hue: Ints, x: Ints, value: NDArray[np.float64]) -> pd.DataFrame:
    """A row for each column, hue and x, in this order."""
    xs, place = np.unique(x, return_inverse=True)
    n_hues = int(hue.max()) + 1
    key = (column.astype(np.int64) * n_hues + hue) * len(xs) + place
    if key.max() < np.iinfo(np.int16).max:
        key = key.astype(np.int16)  # which is ordered in one pass over the values
    by_value = np.argsort(value)
    order = by_value[np.argsort(key[by_value], kind="stable")]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(key[order])) + 1])
    keys = {"column": column[order[starts]], "hue": hue[order[starts]], "x": x[order[starts]]}
    n = np.diff(np.append(starts, len(order)))
    ordered = value[order]
    return pd.DataFrame(
        {
            **keys,
            "mean": np.add.reduceat(ordered, starts) / n,
            "low": _quantile(ordered, starts, n, 0.1),
            "high": _quantile(ordered, starts, n, 0.9),
            "n": n,
        }
    )


def _quantile(
    ordered: NDArray[np.float64], starts: NDArray[np.intp], n: NDArray[np.intp], share: float
) -> NDArray[np.float64]:
    """A quantile of each group of ordered values, interpolated linearly, as `numpy.quantile`."""
    place = share * (n - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, n - 1)
    low, high = ordered[starts + below], ordered[starts + above]
    return np.asarray(low + (place - below) * (high - low), dtype=np.float64)
