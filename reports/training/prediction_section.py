"""What figures of the initial model foretell, as a table of the page and in sentences."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from reports.finding import TRAINING, Finding
from reports.listing import Table, make_table
from reports.records import records
from reports.training.names import MEASURE
from reports.training.rank_correlation import LEAST
from reports.wording import MINUS, PERCENT, counted, listed

MAX_METRICS = 30
"""Metrics that are listed of each outcome."""

_NAMED = 4
_CAVEAT = "settings share levels and are no independent draws, so it describes this grid alone"


def predictions_section(table: pd.DataFrame) -> Table | None:
    """The metrics that could be set against an outcome, the closest first.

    Args:
        table: `reports.training.prediction.predictions`.
    """
    known = table[table["because"] == ""]
    if known.empty:
        return None
    order = known.assign(size=known["correlation"].abs())
    order["place"] = order["outcome"].map({o: i for i, o in enumerate(order["outcome"].unique())})
    order = order.sort_values(["place", "size"], ascending=[True, False], kind="stable")
    listed_ = list(records(order.groupby("outcome", sort=False).head(MAX_METRICS)))
    rows = [
        [
            row.metric,
            _written(row.correlation),
            f"{_written(row.low)} to {_written(row.high)}",
            "beyond noise, exploratory" if row.shown else "inside noise",
            f"{row.n_settings:,}",
            f"{row.n_left_out:,}",
        ]
        for row in listed_
    ]
    columns = {
        "Metric of the initial model": False,
        "Rank correlation": True,
        "Adjusted 95\u00a0% interval": True,
        "Verdict": False,
        "Settings": True,
        "Left out": True,
    }
    caption = (
        "Spearman's rank correlation of metrics of the initial model with how its training ended, "
        "over settings of the model: means over seeds and over the training options that all have "
        "in common, a trial that diverged counted as its loss at initialization. Intervals are "
        "Fisher's with the standard error of Bonett and Wright (2000), adjusted by "
        f"Benjamini–Hochberg over all metrics and outcomes; {_CAVEAT}."
    )
    note = _note(table, len(known) - len(listed_))
    classes = ["" if row.shown else "faint" for row in listed_]
    return make_table(caption, columns, rows, classes, note, [row.outcome for row in listed_])


def _note(table: pd.DataFrame, n_more: int) -> str:
    rest = table[table["because"] != ""]
    told = [
        f"{outcome}: {listed(sorted(set(rows['because'])), _NAMED)}"
        for outcome, rows in rest.groupby("outcome", sort=False)
    ]
    note = f"Without an interval for {'; '.join(told)}." if told else ""
    more = f" {n_more:,} more are in tables/predictions.csv." if n_more else ""
    return (note + more).strip()


def prediction_findings(table: pd.DataFrame) -> Iterator[Finding]:
    """For each outcome which metrics of the initial model are shown to go with it.

    Args:
        table: `reports.training.prediction.predictions`.
    """
    for outcome, rows in table.groupby("outcome", sort=False):
        known = rows[rows["because"] == ""]
        shown = known[known["shown"]]
        shown = shown.assign(size=shown["correlation"].abs())
        shown = shown.sort_values("size", ascending=False, kind="stable")
        support = f"Spearman's rank correlation, false discovery rate 5{PERCENT}; {_CAVEAT}"
        metrics = f"{counted(len(known), 'metric')} of the initial model"
        if known.empty:
            n = int(rows["n_settings"].max())
            why = (
                f"{counted(n, 'setting')} are fewer than {LEAST}"
                if n < LEAST
                else listed(sorted(set(rows["because"])), _NAMED)
            )
            claim = f"whether the initial model foretells {outcome} is not told: {why}"
            support = ""
        elif shown.empty:
            claim = f"of {metrics} none is shown to order the settings as {outcome} does"
        else:
            names = [_named(row) for row in records(shown)]
            go = "goes" if len(shown) == 1 else "go"
            claim = f"of {metrics} {len(shown):,} {go} with {outcome}: {listed(names, _NAMED + 1)}"
        yield Finding(kind=TRAINING, claim=f"{MEASURE}: {claim}", support=support)


def _named(row: Any) -> str:
    within = f"{_written(row.low)} to {_written(row.high)}"
    settings = counted(row.n_settings, "setting")
    return f"{row.metric} ({_written(row.correlation)}, {within}, {settings})"


def _written(value: float) -> str:
    """A correlation with its sign and two digits."""
    if np.isnan(value):
        return "—"
    text = f"{abs(value):.2f}"
    return text if float(text) == 0 else f"{MINUS if value < 0 else '+'}{text}"
