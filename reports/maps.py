"""Which attention maps a page draws, and what they hold.

Shapes: T tokens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.pairs import baseline_level, ordered_levels
from reports.records import records
from reports.wording import counted

MEASURE = "attention_map"
MAX_PANELS = 8
MAX_FIGURES = 4
BASELINE = "baseline"

_NAME = re.compile(rf"{MEASURE}\.layer_(\d+)_head_(\d+)")


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """The weights of one head in one trial.

    Attributes:
        level: Which level differs from the baseline, such as ``norm = rmsnorm``, or `BASELINE`.
        weights: (T, T) the weights of query t in row t.
    """

    level: str
    layer: int
    head: int
    seed: int
    weights: NDArray[np.float32]

    @property
    def n_above(self) -> int:
        """How many weights lie above the diagonal: those of later keys."""
        return len(self.weights) * (len(self.weights) - 1) // 2

    @property
    def ahead(self) -> NDArray[np.float32]:
        """(A,) those of them that are not zero; a query that has one reads the future."""
        later = self.weights[np.triu_indices(len(self.weights), 1)]
        return np.asarray(later[np.isfinite(later) & (later != 0)])

    @property
    def n_broken(self) -> int:
        """How many weights are not finite."""
        return int(np.count_nonzero(~np.isfinite(self.weights)))

    @property
    def several(self) -> NDArray[np.float32]:
        """(A,) the positive weights of rows that see more than one key."""
        positive = np.isfinite(self.weights) & (self.weights > 0)
        return np.asarray(self.weights[positive & (positive.sum(axis=1) > 1)[:, None]])


@dataclass(frozen=True, kw_only=True)
class MapFigure:
    """The maps of one figure, and sentences on what is not drawn."""

    maps: tuple[AttentionMap, ...]
    left_out: str


def attention_maps(frames: Frames, ranking: list[str]) -> Iterator[MapFigure]:
    """The maps to draw, by figures; a figure's arrays are loaded when it is asked for.

    For every layer and head that was kept the baseline cell and the cells that differ from it in
    one factor alone, each with its first seed that is done. Where these are too many, factors take
    turns, the most influential first.

    Args:
        frames: The run.
        ranking: Factors, the most influential first.
    """
    kept = _kept(frames)
    heads = sorted({(layer, head) for _, layer, head in kept})
    present = {cell for cell, _, _ in kept}
    near = [cell for cell in _near(frames, ranking) if cell[1] in present]
    if not near:
        return
    drawn = sorted(near[:MAX_PANELS], key=lambda cell: cell[0])
    a_figure = max(1, MAX_PANELS // len(drawn))
    left_out = ""
    if len(near) > len(drawn):
        n_more = counted(len(near) - len(drawn), "more such cell")
        left_out += f" Not drawn: {n_more}, of less influential factors or later levels."
    if len(heads) > MAX_FIGURES * a_figure:
        left_out += f" Not drawn: {counted(len(heads) - MAX_FIGURES * a_figure, 'more head')}."
    if all(level != BASELINE for _, _, level in drawn):
        left_out += " The baseline cell has no map."
    for start in range(0, min(len(heads), MAX_FIGURES * a_figure), a_figure):
        maps = tuple(
            AttentionMap(
                level=level,
                layer=layer,
                head=head,
                seed=kept[cell, layer, head][0],
                weights=np.asarray(frames.arrays[cell, *kept[cell, layer, head]]),
            )
            for layer, head in heads[start : start + a_figure]
            for _, cell, level in drawn
            if (cell, layer, head) in kept
        )
        if maps:
            yield MapFigure(maps=maps, left_out=left_out)


def _kept(frames: Frames) -> dict[tuple[str, int, int], tuple[int, str]]:
    """The seed and the name of the map to draw for each cell, layer and head."""
    trials = frames.trials[frames.trials["measure"] == MEASURE]
    done = set(
        trials.loc[trials["state"] == "done", ["cell", "seed"]].itertuples(index=False, name=None)
    )
    found: dict[tuple[str, int, int], tuple[int, str]] = {}
    for cell, seed, name in sorted(frames.arrays, key=lambda key: (key[1], key[2], key[0])):
        place = _NAME.fullmatch(name)
        if place and (cell, seed) in done:
            found.setdefault((cell, int(place[1]), int(place[2])), (seed, name))
    return found


def _near(frames: Frames, ranking: list[str]) -> list[tuple[int, str, str]]:
    """The baseline cell and those one factor away: place in the grid, cell, what differs.

    In the order in which they are worth drawing.
    """
    factors = [str(factor) for factor in frames.factors["factor"].unique()]
    away = pd.DataFrame(
        {factor: frames.cells[factor] != baseline_level(frames, factor) for factor in factors},
        index=frames.cells.index,
    )
    others = set(frames.trials["measure"].unique()) - {MEASURE}
    found: list[tuple[tuple[int, int], int, str, str]] = []
    for row in records(frames.cells.loc[away.sum(axis=1) == 0, ["cell"]]):
        found.append(((-1, 0), -1, row.cell, BASELINE))
    place = 0
    for factor in factors:
        if factor.split(".")[0] in others:
            continue  # an option of another measure, which changes no map
        alone = frames.cells[away[factor] & (away.sum(axis=1) == 1)].set_index(factor)["cell"]
        levels = [level for level in ordered_levels(frames, factor) if level in alone.index]
        for turn, level in enumerate(levels):
            worth = (turn, ranking.index(factor))
            found.append((worth, place, str(alone[level]), f"{factor} = {level}"))
            place += 1
    return [(place, cell, level) for _, place, cell, level in sorted(found)]
