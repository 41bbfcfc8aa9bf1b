"""The table of cells of the page: their means, and what changes against the baseline cell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.frames import Frames
from reports.panel import Panel
from reports.plots.data import file_name
from reports.records import records
from reports.tables import cell_table
from reports.wording import change, counted, number

MAX_CELLS = 500
MAX_FACTOR_COLUMNS = 8
SHADES = (1 / 9, 1 / 3, 2 / 3)
"""Of the largest change of a column: from which on a change is shaded, more, and most."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the table.

    Attributes:
        name: Its heading.
        role: ``name`` (of a cell, or a level of it), ``mean`` or ``change``.
        exported: Its heading where the numbers are taken along, with all digits.
    """

    name: str
    role: str
    exported: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What stands in a row of a column.

    Attributes:
        text: As it is read.
        value: The number with all its digits, or ``""`` where there is none.
        shade: ``down-1`` to ``down-3``, ``up-1`` to ``up-3``, or ``""``.
    """

    text: str
    value: str = ""
    shade: str = ""


@dataclass(frozen=True, kw_only=True)
class CellsTable:
    """The table of cells, ready for its template.

    Attributes:
        file: What the files that a reader takes along are called, without their endings.
        baseline: For each row whether it is the baseline cell.
        note: What is left out, or ``""``.
    """

    file: str
    caption: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Entry]]
    baseline: Sequence[bool]


def cells_section(frames: Frames, data: Panel | None = None) -> CellsTable | None:
    """Every cell's primary metrics and how they differ from the baseline cell's.

    ``data`` is `reports.panel.panel` of the run, if already computed.
    """
    table = cell_table(frames, data)
    if table.empty:
        return None
    factors = [str(factor) for factor in frames.factors["factor"].unique()]
    named = factors if 0 < len(factors) <= MAX_FACTOR_COLUMNS else []
    by_metric = {str(metric): rows for metric, rows in table.groupby("metric", sort=False)}
    base = next(iter(by_metric.values()))["baseline"].to_numpy()
    order = [*base.nonzero()[0], *(~base).nonzero()[0]][:MAX_CELLS]
    cells = frames.cells.to_dict("records")
    columns = [Column(name=name, role="name", exported=name) for name in named or ["Cell"]]
    entries = [[Entry(text=str(cells[i][name])) for i in order] for name in named or ["label"]]
    for metric, rows in by_metric.items():
        log = rows["scale"].iloc[0] == "log"
        told = "ratio to" if log else "difference from"
        columns += [
            Column(name=metric, role="mean", exported=metric),
            Column(
                name=f"{metric}: change", role="change", exported=f"{metric}: {told} the baseline"
            ),
        ]
        all_rows = list(records(rows))
        largest = _largest(all_rows)
        drawn = [_entries(all_rows[i], largest) for i in order]
        entries += [[value for value, _ in drawn], [changed for _, changed in drawn]]
    note = ""
    if len(cells) > MAX_CELLS:
        note = (
            f"The baseline and the first {MAX_CELLS - int(base.sum()):,} of {len(cells):,} cells "
            "in the grid's order; the rest is in tables/cells.csv and tables/metrics.csv."
        )
    seeds = counted(int(table["n_asked"].iloc[0]), "seed")
    caption = (
        f"Means over {seeds} of the primary metrics in {counted(len(cells), 'cell')}, the baseline "
        "first (bold), and what changes against it over the seeds that both have. Where a seed "
        "diverged, failed or has no usable value the mean of the others is not given. Changes are "
        "shaded by their size beside the largest of their column, blue below the baseline and "
        "orange above; the shade says nothing of noise."
    )
    return CellsTable(
        file=f"{file_name(frames.name)}-cells",
        caption=caption,
        note=note,
        columns=columns,
        rows=list(zip(*entries, strict=True)),
        baseline=[bool(base[i]) for i in order],
    )


def _largest(rows: Sequence[Any]) -> float:
    """The largest change there is; 0 without one."""
    known = (row for row in rows if not math.isnan(row.delta))
    return max((abs(_size(row.delta, row.scale)) for row in known), default=0.0)


def _size(delta: float, scale: str) -> float:
    """A difference, or the logarithm of a ratio."""
    return math.log(delta) if scale == "log" else delta


def _entries(row: Any, largest: float) -> tuple[Entry, Entry]:
    """A cell's mean of a metric, and how it differs from the baseline's."""
    lost = row.n_asked - row.n_seeds
    if row.state in ("diverged", "failed", "no value") or not row.n_seeds:
        named = {"marked": "cancelled probe", "": "no value"}.get(row.state, row.state)
        told = named if named == "not applicable" else f"{named} ({lost} of {row.n_asked})"
        return Entry(text=told), Entry(text="—")
    text = number(row.mean) + (f" ({row.n_seeds} of {row.n_asked} seeds)" if lost else "")
    mean = Entry(text=text, value=repr(float(row.mean)))
    if pd.isna(row.delta) or row.baseline:
        return mean, Entry(text="—")
    shade = _shade(_size(row.delta, row.scale), largest)
    told = change(row.delta, row.scale)
    return mean, Entry(text=told, value=repr(float(row.delta)), shade=shade)


def _shade(size: float, largest: float) -> str:
    """The class of a change; ``""`` for one that is small beside the largest."""
    if not largest:
        return ""
    level = sum(abs(size) >= share * largest for share in SHADES)
    return f"{'up' if size > 0 else 'down'}-{level}" if level else ""
