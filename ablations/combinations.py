"""Which levels of a grid's factors make a cell together: all combinations, or one change each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.factors import Factor, Level

MAX_CELLS = 100_000
MAX_TRIALS = 1_000_000
MAX_BLOCKS = 1_000_000
"""What a grid may ask for at most: planning builds every block of every cell on the meta device,
which takes milliseconds each."""


def excess(grid: Grid) -> str | None:
    """Why a grid is too large to be worked out, with its numbers, from its factors alone."""
    cells = count(grid)
    depths = [factor.levels for factor in grid.factors if factor.name == "depth"]
    depth = max([level.value for levels in depths for level in levels] or [grid.model["depth"]])
    sizes = (
        ("cells", cells, MAX_CELLS),
        ("trials", cells * len(grid.seeds), MAX_TRIALS),
        ("blocks", cells * depth, MAX_BLOCKS),
    )
    for what, number, limit in sizes:
        if number > limit:
            return f"{number:,} {what}, more than the {limit:,} that a grid may have"
    return None


def count(grid: Grid) -> int:
    """The number of cells, skipped ones among them."""
    sizes = [len(factor.levels) for factor in grid.factors]
    return math.prod(sizes) if grid.design == "full" else 1 + sum(size - 1 for size in sizes)


def combinations(grid: Grid) -> Iterator[dict[str, Level]]:
    """The levels of each cell, by factor.

    In a full design every combination, the first factor varying slowest; one at a time the
    baseline, and then each other level of each factor in its place.
    """
    names = [factor.name for factor in grid.factors]
    if grid.design == "full":
        for chosen in itertools.product(*(factor.levels for factor in grid.factors)):
            yield dict(zip(names, chosen, strict=True))
        return
    baseline = {factor.name: baseline_first(grid, factor)[0] for factor in grid.factors}
    yield baseline
    for factor in grid.factors:
        for level in factor.levels:
            if level is not baseline[factor.name]:
                yield {**baseline, factor.name: level}


def baseline_first(grid: Grid, factor: Factor) -> Sequence[Level]:
    """The levels of a factor, that of the baseline before the others."""
    label = grid.baseline[factor.name]
    return sorted(factor.levels, key=lambda level: level.label != label)
