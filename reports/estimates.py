"""What contrasts come to: differences over complete groups of cells, seed by seed.

Shapes: K cells in a group (2 or 4), P groups, M metrics, S seeds; m, p and s are those of a block.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.pairs import Contrast
from reports.panel import REASONS, Panel
from reports.possible import largest_difference
from reports.variation import ROUNDING, pair_means

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]

DROPPED = {reason: f"n_{reason.replace(' ', '_')}" for reason in REASONS[1:]}
"""For each reason the column that counts the observations dropped for it."""

RESOLUTION = 2.0**-23
"""Measured values closer than this, relative to their size, are the same: what float32 tells."""

_STEADY_SEEDS = 3
_GRID = 2**20  # steps from the smallest to the largest value; more look like no grid
COUNTS = ("n_pairs", "n_seeds", "n_dropped")
_NUMBERS = ("mean", "error", "same_sign", "reference_mean", "smallest", "largest")
_FLAGS = ("unchanged", "differs", "steady")
_TEXTS = ("metric", "scale", "better")


@dataclass(frozen=True, kw_only=True)
class Block:
    """The observations used of some metrics: every group in every seed, none missing.

    Attributes:
        metrics: (m,) their places in the panel.
        groups: (p,) which groups.
        seeds: (s,) which seeds.
        reference: (m, p, s) values of the cell at all references, in logarithms on a log scale.
        difference: (m, p, s) what the level changes; of four cells, what it changes at the other
            factor's level beyond what it changes at its reference. Seeds lie as far apart as the
            panel's ``spread`` says.
    """

    metrics: NDArray[np.intp]
    groups: NDArray[np.intp]
    seeds: NDArray[np.intp]
    reference: Floats
    difference: Floats


Further = Callable[[Contrast, Columns, list[Block]], Columns]
"""Columns of its own that a table adds: (M,) each, of a contrast, its columns and its blocks."""


def estimates(
    data: Panel, contrasts: Sequence[Contrast], names: Sequence[str], further: Further | None = None
) -> pd.DataFrame:
    """A row for each contrast and metric: the mean over complete groups, and how seeds scatter.

    Columns: `names`, ``metric``, ``scale``, ``better``, ``primary``, ``exact``,
    ``largest_difference`` (`reports.possible`), ``unchanged``,
    ``mean`` and its ``error`` (on the seeds' means over groups; NaN with one seed), ``smallest``
    and ``largest`` (mean of a group over seeds), ``same_sign``, ``reference_mean``, ``differs``
    (whether groups do by more than rounding), ``steady`` (three seeds or more change the values of
    every group and the difference of none, which on values of a grid may be chance), `COUNTS` and
    `DROPPED`. Means are of logarithms on a log scale, but
    for ``reference_mean``.
    """
    # A table without rows takes its columns from a contrast of nothing.
    nothing = Contrast(names=dict.fromkeys(names, ""), cells=np.empty((2, 0), dtype=np.intp))
    parts: list[Columns] = []
    for contrast in contrasts or [nothing]:
        columns, blocks = _estimate(data, contrast.cells)
        parts.append(columns | (further(contrast, columns, blocks) if further else {}))
    n_metrics = len(data.info)
    table: Columns = {
        name: np.repeat(np.array([c.names[name] for c in contrasts], dtype=object), n_metrics)
        for name in names
    }
    for name in (*_TEXTS, "primary"):
        table[name] = np.tile(data.info[name].to_numpy(), len(contrasts))
    table["exact"] = np.tile(data.exact, len(contrasts))
    n_cells = len((contrasts or [nothing])[0].cells)
    table["largest_difference"] = np.tile(largest_difference(data, n_cells), len(contrasts))
    n_rows = n_metrics * len(contrasts)
    table |= {name: np.concatenate([part[name] for part in parts])[:n_rows] for name in parts[0]}
    texts = {name: object for name, column in table.items() if column.dtype.kind not in "bif"}
    return pd.DataFrame(table).astype(texts | {"primary": bool, "exact": bool})


def _estimate(data: Panel, cells: NDArray[np.intp]) -> tuple[Columns, list[Block]]:
    """Columns (M,) of one contrast with cells (K, P), and the blocks they come from."""
    n_metrics, _, n_seeds = data.values.shape
    n_asked = cells.shape[1] * n_seeds
    columns: Columns = {name: np.full(n_metrics, np.nan) for name in _NUMBERS}
    columns |= {name: np.zeros(n_metrics, dtype=np.int64) for name in COUNTS}
    columns |= {name: np.zeros(n_metrics, dtype=np.int64) for name in DROPPED.values()}
    columns |= {name: np.zeros(n_metrics, dtype=bool) for name in _FLAGS}
    columns["n_dropped"][:] = n_asked
    if not n_asked or not n_metrics:
        return columns, []
    cause = np.maximum.reduce([data.reason[:, row] for row in cells])  # (M, P, S)
    if cause.any():
        for code, reason in enumerate(REASONS[1:], start=1):
            columns[DROPPED[reason]] = (cause == code).sum(axis=(1, 2))
    blocks = list(_blocks(data, cells, cause == 0))
    for block in blocks:
        m = block.metrics
        columns["n_pairs"][m] = len(block.groups)
        columns["n_seeds"][m] = len(block.seeds)
        columns["n_dropped"][m] = n_asked - len(block.groups) * len(block.seeds)
        for name, values in _figures(block).items():
            columns[name][m] = values
    log = (data.info["scale"] == "log").to_numpy(dtype=bool)
    for metric in np.flatnonzero(columns["steady"]):
        seen = data.values[metric][cells][:, data.usable[metric][cells].all(axis=0)]
        columns["steady"][metric] = not on_a_grid(np.exp(seen) if log[metric] else seen)
    columns["reference_mean"][log] = np.exp(columns["reference_mean"][log])
    return columns, blocks


def _figures(block: Block) -> Columns:
    """Columns (m,) of one block."""
    difference = block.difference
    by_seed = difference.mean(axis=1)  # (m, s)
    mean = by_seed.mean(axis=1)
    # Groups that cancel leave no direction, though rounding would.
    mean[np.abs(mean) <= ROUNDING * np.abs(difference).max(axis=(1, 2))] = 0.0
    by_group, differs = pair_means(difference, block.reference)  # (m, p), (m,)
    size = np.maximum(np.abs(block.reference).max(axis=2), np.abs(difference).max(axis=2))
    moved = np.ptp(block.reference, axis=2) > ROUNDING * size  # (m, p)
    steady = moved & (np.ptp(difference, axis=2) <= ROUNDING * size)
    figures: Columns = {
        "mean": mean,
        "unchanged": np.logical_not(difference.any(axis=(1, 2))),
        "differs": differs,
        "steady": steady.all(axis=1) & (len(block.seeds) >= _STEADY_SEEDS),
        "smallest": by_group.min(axis=1),
        "largest": by_group.max(axis=1),
        "same_sign": (np.sign(by_group) == np.sign(mean)[:, None]).mean(axis=1),
        "reference_mean": block.reference.mean(axis=(1, 2)),
    }
    if len(block.seeds) > 1:
        figures["error"] = by_seed.std(axis=1, ddof=1) / np.sqrt(len(block.seeds))
    return figures


def on_a_grid(values: Floats) -> bool:
    """Whether values lie evenly spaced, as counts, layers, flags and rounded numbers do."""
    distinct = np.unique(values)
    extent = float(np.ptp(distinct)) if len(distinct) else 0.0
    least = 1e-9 * float(np.abs(distinct).max(initial=0.0))
    step = 0.0  # the greatest common divisor of all gaps
    for gap in np.diff(distinct).tolist():
        rest = gap
        while rest > least:
            step, rest = rest, math.fmod(step, rest)
        if extent > _GRID * step > 0:
            return False
    return True


def _blocks(data: Panel, cells: NDArray[np.intp], usable: NDArray[np.bool_]) -> Iterator[Block]:
    """The blocks of a contrast; metrics that can use the same observations share one."""
    alike: dict[bytes, list[int]] = {}
    if usable.all():
        alike[b""] = list(range(len(usable)))
    else:
        for metric, mask in enumerate(usable):
            alike.setdefault(np.packbits(mask).tobytes(), []).append(metric)
    log = (data.info["scale"] == "log").to_numpy(dtype=bool)
    rounding = np.where(data.exact, ROUNDING, RESOLUTION)
    for members in alike.values():
        groups, seeds = complete_block(usable[members[0]])
        if not len(groups):
            continue
        metrics = np.array(members)
        # (K, m, p, s)
        values = np.stack([data.values[np.ix_(metrics, row[groups], seeds)] for row in cells])
        size = np.abs(values).max(axis=0)  # (m, p, s)
        size[log[metrics]] = np.maximum(size[log[metrics]], 1.0)  # as exact as the ratio
        difference = values
        while len(difference) > 1:  # four cells are two pairs, and then a pair of differences
            difference = difference[::2] - difference[1::2]
        least = rounding[metrics][:, None, None] * size
        yield Block(
            metrics=metrics,
            groups=groups,
            seeds=seeds,
            reference=values[-1],
            difference=_spread(
                data,
                np.where(np.abs(difference[0]) <= least, 0.0, difference[0]),
                metrics,
                cells[:, groups],
            ),
        )


def _spread(
    data: Panel, difference: Floats, metrics: NDArray[np.intp], cells: NDArray[np.intp]
) -> Floats:
    """(m, p, s) differences as far from their mean over seeds as cells (K, p) are known to be."""
    if data.spread is None:
        return difference
    times = data.spread[metrics][:, cells].max(axis=1)  # (m, p)
    mean = difference.mean(axis=2, keepdims=True)
    return np.asarray(mean + times[..., None] * (difference - mean), dtype=np.float64)


def complete_block(usable: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The groups and the seeds to use (P, S), so that each of these groups has all these seeds.

    Seeds enter in order of how many groups they have, as long as that adds to the degrees of
    freedom over groups: one bad group costs that group, one bad seed costs that seed.
    """
    count = usable.sum(axis=0)
    order = np.argsort(-count, kind="stable")
    complete = np.logical_and.accumulate(usable[:, order], axis=1)  # (P, S)
    groups_left = complete.sum(axis=0).tolist()
    if not any(groups_left):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    best = max(range(len(order)), key=lambda k: (groups_left[k] * k, groups_left[k]))
    return np.flatnonzero(complete[:, best]), np.sort(order[: best + 1])
