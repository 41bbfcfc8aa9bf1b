"""What every level does at each learning rate that both of a pair have."""

from typing import Any

import numpy as np
import pandas as pd

from reports.adjustment import with_intervals
from reports.conditional import CONDITIONAL_COLUMNS, NAMES, at_levels
from reports.effects_section import unjudged
from reports.estimates import estimates
from reports.frames import Frames
from reports.intervals import false_coverage_levels
from reports.listing import Table, make_table
from reports.pairs import pairs
from reports.panel import Panel
from reports.placebo import PLACEBO
from reports.ranking import beyond_noise, has_survivors_only
from reports.records import records
from reports.training.names import LEARNING_RATE, MEASURE
from reports.wording import bounds, change, number

MAX_EFFECTS = 200


def effects_at_common_rates(frames: Frames, data: Panel) -> pd.DataFrame:
    """The effect of every level on the training's primary metrics at each learning rate alone.

    Rows are those of `reports.conditional.conditional_effects` with the rate as ``factor_2``, of
    every factor but the rate and the placebo. Intervals are adjusted by Benjamini–Hochberg over all
    of them, which are exploratory. Empty where the grid does not vary the rate.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
    """
    if LEARNING_RATE not in frames.cells:
        return pd.DataFrame(columns=list(CONDITIONAL_COLUMNS))
    contrasts = [
        part
        for contrast in pairs(frames)
        if contrast.names["factor"] not in (LEARNING_RATE, PLACEBO)
        for part in at_levels(frames, contrast, LEARNING_RATE)
    ]
    info = data.info
    metrics = info.loc[(info["measure"] == MEASURE) & info["primary"], "metric"]
    tables = [estimates(data.only(str(metric)), contrasts, NAMES) for metric in metrics]
    if not tables:
        return pd.DataFrame(columns=list(CONDITIONAL_COLUMNS))
    table = pd.concat(tables, ignore_index=True)
    everything = np.ones(len(table), dtype=bool)
    result = with_intervals(table, [(everything, false_coverage_levels)])
    rest = [name for name in result.columns if name not in (*CONDITIONAL_COLUMNS, "differs")]
    return result[[*CONDITIONAL_COLUMNS, *rest]]


def common_rates_section(table: pd.DataFrame) -> Table | None:
    """What each level does at each learning rate, by metric.

    Args:
        table: `reports.training.common_rates.effects_at_common_rates`.
    """
    if table.empty:
        return None
    told = table.assign(shown=beyond_noise(table), lost=has_survivors_only(table))
    listed = list(records(told.head(MAX_EFFECTS)))
    rows = [_common(row) for row in listed]
    columns = {
        "Change": False,
        "Learning rate of both": True,
        "Effect": True,
        "Adjusted 95\u00a0% interval": True,
        "Verdict": False,
        "Pairs": True,
        "Seeds": True,
        "Not used": True,
    }
    caption = (
        "What each level does at one learning rate that both of a pair have, on the primary "
        "metrics of the training. Intervals are adjusted by Benjamini–Hochberg over all of them, "
        "which are exploratory."
    )
    note = ""
    if len(table) > MAX_EFFECTS:
        note = (
            f"{MAX_EFFECTS} of {len(table):,} effects; all are in "
            "tables/effects_at_common_rates.csv."
        )
    classes = ["" if row.shown else "faint" for row in listed]
    return make_table(caption, columns, rows, classes, note, [row.metric for row in listed])


def _common(row: Any) -> list[str]:
    judged = "beyond noise, exploratory" if row.shown else "inside noise"
    ends = (row.low, row.high)
    return [
        f"{row.factor}: {row.reference} → {row.level}",
        row.level_2,
        change(row.estimate, row.scale, *ends) if row.n_pairs else "—",
        "—" if pd.isna(row.low) else bounds(*ends, row.scale, row.estimate),
        unjudged(row) or judged,
        number(row.n_pairs),
        number(row.n_seeds),
        number(row.n_dropped),
    ]
