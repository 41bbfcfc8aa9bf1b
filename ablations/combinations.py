"""Which levels of a grid's factors make a cell together: all combinations, or one change each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.factors import Factor, Level

MAX_CELLS = 1_000_000
MAX_TRIALS = 10_000_000
MAX_BLOCKS = 100_000_000
"""What a grid may ask for at most: planning looks at every cell, and at every block of one where
these differ, which takes microseconds each."""


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


def places(grid: Grid, number: int) -> tuple[int, ...]:
    """Of each factor the place of its level in the cell of that number, from 0.

    In a full design every combination, the first factor varying slowest; one at a time the
    baseline, and then each other level of each factor in its place.
    """
    if grid.design == "full":
        found = [0] * len(grid.factors)
        for of in range(len(found) - 1, -1, -1):
            number, found[of] = divmod(number, len(grid.factors[of].levels))
        return tuple(found)
    baseline = [_place(factor, grid.baseline[factor.name]) for factor in grid.factors]
    for of, factor in enumerate(grid.factors):
        others = len(factor.levels) - 1
        if 0 < number <= others:
            baseline[of] = number - (number <= baseline[of])
            break
        number -= others
    return tuple(baseline)


def combinations(grid: Grid) -> Iterator[dict[str, Level]]:
    """The levels of each cell, by factor."""
    for number in range(count(grid)):
        yield {
            factor.name: factor.levels[place]
            for factor, place in zip(grid.factors, places(grid, number), strict=True)
        }


def label(factors: Sequence[Factor], places: Sequence[int]) -> str:
    """The levels of a cell, as a person reads them."""
    chosen = zip(factors, places, strict=True)
    return " ".join([f"{factor.name}={factor.levels[place].label}" for factor, place in chosen])


def baseline_number(grid: Grid) -> int:
    """The number of the baseline cell."""
    if grid.design != "full":
        return 0
    number = 0
    for factor in grid.factors:
        number = number * len(factor.levels) + _place(factor, grid.baseline[factor.name])
    return number


def pairs(grid: Grid, factor: Factor) -> Iterator[tuple[int, int]]:
    """The numbers of cells that differ in a factor alone: the first of them, and each other."""
    of, size = grid.factors.index(factor), len(factor.levels)
    if grid.design != "full":
        start = 1 + sum(len(other.levels) - 1 for other in grid.factors[:of])
        yield from ((0, number) for number in range(start, start + size - 1))
        return
    stride = math.prod(len(other.levels) for other in grid.factors[of + 1 :])
    for number in range(count(grid)):
        if number // stride % size == 0:
            yield from ((number, number + place * stride) for place in range(1, size))


def _place(factor: Factor, label: str) -> int:
    return next(place for place, level in enumerate(factor.levels) if level.label == label)


def baseline_first(grid: Grid, factor: Factor) -> Sequence[Level]:
    """The levels of a factor, that of the baseline before the others."""
    label = grid.baseline[factor.name]
    return sorted(factor.levels, key=lambda level: level.label != label)
