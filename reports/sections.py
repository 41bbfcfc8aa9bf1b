"""What was measured by level, as a table of the page."""

import pandas as pd

from reports.frames import Frames
from reports.listing import Table, make_table
from reports.panel import Panel, panel
from reports.ranking import BUDGET
from reports.tables import level_table
from reports.wording import number


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
