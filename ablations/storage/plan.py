"""A grid as the store keeps it: which results belong to it, and all that explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ablations.examining import Examination
    from ablations.viewing import Viewing

Rows = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class PlannedCellRow:
    """A cell of the grid; `levels` holds the label of its level for each factor.

    `content` is what `cell` is a hash of. `skipped` is the reason why the cell is not run.
    """

    cell: str
    label: str
    levels: Mapping[str, str]
    content: Mapping[str, Any]
    skipped: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What `Store.begin` keeps of a run before its first trial.

    `cells`, `seeds` and `measures` are in the order of the grid, skipped cells among them.
    `identities` tells for each cell that is run and each measure done to it which results belong
    to it; a measure without one is not done to that cell. `examinations` holds by their keys those
    of the components, `examined` the keys of each cell's, `viewings` those of the blocks. The rows
    of the tables are those of `reports.frames.Frames`, as plain values; but those of `blocks` are
    the name of each `block` and the key of its `viewing`.
    """

    name: str
    grid: str
    cells: Sequence[PlannedCellRow]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    identities: Mapping[tuple[str, str], str]
    examinations: Mapping[str, Examination] = field(default_factory=dict)
    examined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    viewings: Mapping[str, Viewing] = field(default_factory=dict)
    settings: Rows = field(default=())
    factors: Rows = field(default=())
    metric_info: Rows = field(default=())
    components: Rows = field(default=())
    environment: Rows = field(default=())
    blocks: Rows = field(default=())
