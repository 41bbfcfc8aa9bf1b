"""How the run went and what it was, as tables of the page."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from reports.frames import STATES, Frames
from reports.listing import Table, make_table
from reports.records import records
from reports.sizes import convention_of, scaling
from reports.tables import loss_table, warning_table
from reports.wording import number

MAX_LOSSES = 200


def trial_counts(frames: Frames) -> dict[str, int]:
    """Trials by the gravest state among their measures, in the order of `STATES`."""
    order = {state: place for place, state in enumerate(_BY_GRAVITY)}
    gravity = frames.trials["state"].map(order)
    worst = gravity.groupby([frames.trials["cell"], frames.trials["seed"]], observed=True).max()
    counts = worst.value_counts()
    return {state: int(counts.get(order[state], 0)) for state in STATES}


_BY_GRAVITY = ("done", "missing", "skipped", "diverged", "timeout", "crashed", "failed")


def losses_section(frames: Frames) -> Table | None:
    """What failed, diverged or was skipped, and what it said."""
    table = loss_table(frames)
    if table.empty:
        return None
    rows = [
        [
            row.message or "(no message)",
            row.state,
            row.measure,
            number(row.n),
            number(row.n_cells),
            row.example,
        ]
        for row in records(table.head(MAX_LOSSES))
    ]
    columns = {
        "Message": False,
        "State": False,
        "Measure": False,
        "Trials": True,
        "Cells": True,
        "For example": False,
    }
    note = ""
    if len(table) > MAX_LOSSES:
        note = f"{MAX_LOSSES} of {len(table):,} messages; all are in tables/trials.csv."
    return make_table("Trials that gave no value to compare, by message.", columns, rows, note=note)


def warnings_section(frames: Frames) -> Table | None:
    """What trials warned of, whatever became of them."""
    table = warning_table(frames)
    if table.empty:
        return None
    rows = [
        [row.text, row.measure, number(row.n), number(row.n_cells), row.example]
        for row in records(table.head(MAX_LOSSES))
    ]
    columns = {
        "Warning": False,
        "Measure": False,
        "Trials": True,
        "Cells": True,
        "For example": False,
    }
    note = "A warning that code gives once a process is one trial's alone."
    if len(table) > MAX_LOSSES:
        note += f" {MAX_LOSSES} of {len(table):,} warnings; all are in tables/warnings.csv."
    return make_table("Warnings of trials, by text.", columns, rows, note=note)


def conventions_section(*runs: Frames) -> Table | None:
    """What each metric and profile means, of a run and of what was made of it.

    What the conventions of a measure share is said once, above its metrics.
    """
    told = [row for frames in runs for row in _conventions(frames)]
    headings = ("Name", "Form", "Unit", "Better", "What it is, and by which convention")
    caption = (
        "Units and conventions of all metrics and profiles. What stands beside the name of a "
        "measure holds for all below it, and a row says what it has beyond that."
    )
    if not told:
        return None
    rows, groups = [row for _, row in told], [group for group, _ in told]
    return make_table(caption, dict.fromkeys(headings, False), rows, groups=groups)


def _conventions(frames: Frames) -> Iterator[tuple[str, list[str]]]:
    """Each row below its heading."""
    raw = scaling(frames)
    measured = set(frames.metrics["metric"])
    for measure, table in frames.metric_info.groupby("measure", sort=False):
        parts = [row.convention.rstrip(".").split("; ") for row in records(table)]
        shared = _shared(parts)
        heading = f"{measure}: {'; '.join(shared)}" if shared else str(measure)
        for row, told in zip(records(table), parts, strict=True):
            own = [part for part in told if part and part not in shared]
            own += filter(None, [convention_of(row.metric, raw)])
            yield (
                heading,
                [
                    row.metric,
                    f"{row.form}{_use(row, row.form == 'profile' or row.metric in measured)}",
                    row.unit,
                    "—" if row.better == "neither" else row.better,
                    f"{row.summary} Convention: {'; '.join(own)}." if own else row.summary,
                ],
            )


def _shared(conventions: Sequence[Sequence[str]]) -> list[str]:
    """The parts that all of several conventions have, in their order; none of a single one."""
    if len(conventions) < 2:
        return []
    return [part for part in conventions[0] if part and all(part in one for one in conventions)]


def _use(row: Any, measured: bool) -> str:
    """What a metric is for, if that is no comparison like any other."""
    if not getattr(row, "compared", True):
        return ", never compared"
    return (", primary" if row.primary else "") + ("" if measured else ", in no trial")


def settings_section(frames: Frames) -> Table | None:
    """Every value of the model, the measures and the seeds."""
    return _plain(frames.settings, "Every setting, given or default.", ("key", "value", "origin"))


def components_section(frames: Frames) -> Table | None:
    """The components the cells are made of."""
    columns = ["kind", "name", "options", "plugin", "version", "summary", "source"]
    caption = "Components in this run, and where they come from"
    if "conformance" in frames.components:
        columns.append("conformance")
        caption += "; conformance: what holding each to the contracts of its kind found"
    return _plain(frames.components, f"{caption}.", columns)


def environment_section(frames: Frames) -> Table | None:
    """Versions and hardware."""
    return _plain(frames.environment, "Where and with what the run was measured.", ("key", "value"))


def _plain(frame: pd.DataFrame, caption: str, columns: Sequence[str]) -> Table | None:
    rows = [[str(row[column]) for column in columns] for row in frame.to_dict("records")]
    headings = {column.capitalize(): False for column in columns}
    return make_table(caption, headings, rows) if rows else None
