"""What was measured, as tables of the page: levels, cells."""

from typing import Any

import pandas as pd

from reports.frames import Frames
from reports.listing import Table, make_table
from reports.panel import Panel, panel
from reports.ranking import BUDGET
from reports.records import records
from reports.tables import cell_table, level_table
from reports.wording import change, counted, number

MAX_CELLS = 500
MAX_FACTOR_COLUMNS = 8


def levels_section(frames: Frames, data: Panel | None = None) -> Table | None:
    """Means by level of every metric of the measure that counts parameters.

    ``data`` is `reports.panel.panel` of the run, if already computed.
    """
    data = panel(frames) if data is None else data
    info = data.info
    measures = info.loc[info["metric"] == BUDGET, "measure"]
    metrics = info.loc[info["measure"].isin(measures), "metric"].to_list()
    if not metrics:
        return None
    table = level_table(frames, metrics, data)
    if table.empty:
        return None
    rows = [
        [
            f"{row['factor']} = {row['level']}",
            number(row["n_cells"]),
            *(number(round(row[m])) if pd.notna(row[m]) else "—" for m in metrics),
        ]
        for row in table.to_dict("records")
    ]
    classes = ["base" if baseline else "" for baseline in table["baseline"]]
    columns = {"Level": False, "Cells": True, **dict.fromkeys(metrics, True)}
    return make_table(
        "Means over the cells of each level; baseline levels are bold.", columns, rows, classes
    )


def cells_section(frames: Frames, data: Panel | None = None) -> Table | None:
    """Every cell's primary metrics and how they differ from the baseline cell's.

    ``data`` is `reports.panel.panel` of the run, if already computed.
    """
    table = cell_table(frames, data)
    if table.empty:
        return None
    factors = [str(factor) for factor in frames.factors["factor"].unique()]
    named = factors if 0 < len(factors) <= MAX_FACTOR_COLUMNS else []
    metrics = list(table["metric"].unique())
    by_metric = {metric: list(records(rows)) for metric, rows in table.groupby("metric")}
    base = table.loc[table["metric"] == metrics[0], "baseline"].to_numpy()
    order = [*base.nonzero()[0], *(~base).nonzero()[0]][:MAX_CELLS]
    cells = frames.cells.to_dict("records")
    rows = [
        [
            *([cells[i][f] for f in named] if named else [cells[i]["label"]]),
            *(text for metric in metrics for text in _cell_values(by_metric[metric][i])),
        ]
        for i in order
    ]
    columns = dict.fromkeys(named or ["Cell"], False)
    for metric in metrics:
        columns |= {metric: True, f"{metric}: change": True}
    note = ""
    if len(cells) > MAX_CELLS:
        note = (
            f"The baseline and the first {MAX_CELLS - int(base.sum()):,} of {len(cells):,} cells; "
            "the rest is in tables/cells.csv and tables/metrics.csv."
        )
    seeds = counted(int(table["n_asked"].iloc[0]), "seed")
    caption = (
        f"Means over {seeds} of the primary metrics in {counted(len(cells), 'cell')}, the baseline "
        "first (bold), and what changes against it over the seeds that both have. Where a seed "
        "diverged, failed or has no usable value the mean of the others is not given."
    )
    return make_table(caption, columns, rows, ["base" if base[i] else "" for i in order], note)


def _cell_values(row: Any) -> list[str]:
    lost = row.n_asked - row.n_seeds
    if row.state in ("diverged", "failed", "no value") or not row.n_seeds:
        named = {"marked": "cancelled probe", "": "no value"}.get(row.state, row.state)
        return [named if named == "not applicable" else f"{named} ({lost} of {row.n_asked})", "—"]
    value = number(row.mean)
    if lost:
        value += f" ({row.n_seeds} of {row.n_asked} seeds)"
    return [value, "—" if pd.isna(row.delta) or row.baseline else change(row.delta, row.scale)]
