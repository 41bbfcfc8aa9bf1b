"""Cells that are equal in all factors but some, taken together as one setting.

Shapes: C cells, G settings.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.pairs import equal_rows, factor_names, level_codes


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run.

    Attributes:
        cells: A row for each, in the grid's order, as in ``frames.cells``: ``cell`` (the name of
            one of its own, which does not depend on their order), ``label``, and the factors in
            which settings differ.
        of_cell: (C,) the row of each cell's setting.
        factors: The rows of ``frames.factors`` that are about these factors.
    """

    cells: pd.DataFrame
    of_cell: NDArray[np.intp]
    factors: pd.DataFrame

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def labels(self) -> list[str]:
        """(G,) what each is called: its levels, or ``every cell`` where nothing else is varied."""
        return [str(label) for label in self.cells["label"]]


def settings_without(frames: Frames, left_out: Collection[str]) -> Settings:
    """The settings of all factors but some."""
    names = factor_names(frames)
    kept = [place for place, name in enumerate(names) if name not in left_out]
    factors = [names[place] for place in kept]
    of_cell, _ = pd.factorize(equal_rows(level_codes(frames)[:, kept]))  # in order of appearance
    first = np.unique(of_cell, return_index=True)[1]
    cells = frames.cells.iloc[first][["cell", "label", *factors]].reset_index(drop=True)
    named = frames.cells["cell"].groupby(of_cell).min().to_numpy(dtype=object)
    labels = [_label(row, factors) for row in cells.to_dict("records")]
    return Settings(
        cells=cells.assign(cell=named, label=labels),
        of_cell=np.asarray(of_cell, dtype=np.intp),
        factors=frames.factors[frames.factors["factor"].isin(factors)].reset_index(drop=True),
    )


def _label(row: dict[str, str], factors: list[str]) -> str:
    return " ".join(f"{factor}={row[factor]}" for factor in factors) or "every cell"
