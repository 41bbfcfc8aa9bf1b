"""The page of a comparison, and its summary for a console."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pandas as pd

from reports.comparison.changes import Change, changes, comparable_metrics
from reports.comparison.compared_run import ComparedRun
from reports.comparison.moved import moved_effects, not_at_best
from reports.comparison.states import Shared, changed_states, shared
from reports.comparison.told import (
    has_moved,
    move_findings,
    moved_table,
    shared_sentence,
)
from reports.files import write_text
from reports.finding import Finding
from reports.frames import Frames
from reports.listing import Table, make_table
from reports.page import lead
from reports.pairs import factor_names
from reports.plots.data import figure_data
from reports.plots.moves import describe_moves, moves_table, plot_moves
from reports.plots.style import Drawing, draw
from reports.records import records
from reports.run_sections import trial_counts
from reports.templating import environment
from reports.training.at_best_rate import TAKEN
from reports.training.compared import compare
from reports.training.names import LEARNING_RATE, at_best_rate
from reports.wording import counted, number, short

MAX_SHOWN = 500
MAX_FIGURES = 8
MAX_SAID = 5
"""Changes of a part that the summary tells one by one."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        runs: The first and the second.
        changes: What differs in what they were made of.
        shared: What they have in common.
        states: `reports.comparison.states.changed_states`.
        moved: `reports.comparison.moved.moved_effects`.
        not_at_best: Why nothing is compared with each setting at its own best learning rate, or
            None where it is.
        not_compared: By metric of both runs, why it is not compared.
    """

    runs: tuple[ComparedRun, ComparedRun]
    changes: list[Change]
    shared: Shared
    states: pd.DataFrame
    moved: pd.DataFrame
    not_at_best: str | None
    not_compared: dict[str, str]

    @property
    def alerts(self) -> list[str]:
        """What a reader must know first."""
        told = []
        for which, run in zip(("first", "second"), self.runs, strict=True):
            counts = trial_counts(run.frames)
            total = sum(counts.values())
            if counts["missing"] == total:
                told.append(f"Nothing has been measured in the {which} run yet.")
            elif counts["missing"]:
                told.append(
                    f"The {which} run is unfinished: {counts['missing']:,} of "
                    f"{counted(total, 'trial')} are still to be run."
                )
        if self.moved.empty:
            told.append(self._why_nothing())
        elif any(LEARNING_RATE in run.frames.cells for run in self.runs):
            told += self._why_not_at_best()
        return told

    def _why_not_at_best(self) -> Iterator[str]:
        there = self.moved["metric"].isin([at_best_rate(metric) for metric in TAKEN])
        if self.not_at_best or not there.any():
            why = self.not_at_best or "no factor but the rate is in both"
            yield f"Each setting at its own best learning rate is not compared, as {why}."

    def _why_nothing(self) -> str:
        one, other = (factor_names(run.frames) for run in self.runs)
        if not set(one) & set(other):
            return (
                "No factor is in both runs, so no effect is compared: the first varies "
                f"{', '.join(one) or 'nothing'}, the second {', '.join(other) or 'nothing'}."
            )
        return (
            "No effect is in both runs: none has the same factor, level, baseline and metric. "
            "So none is compared."
        )

    @property
    def findings(self) -> list[Finding]:
        """Which effects moved, in sentences."""
        return list(move_findings(self.moved))


def compare_runs(first: ComparedRun, second: ComparedRun) -> Comparison:
    """Compare two runs, finished or not."""
    metrics, reasons = comparable_metrics(first.frames, second.frames)
    uncounted = set(first.frames.metric_info["metric"]) - set(metrics)
    one, other = (compare(run.frames) for run in (first, second))
    return Comparison(
        runs=(first, second),
        changes=changes(first, second),
        shared=shared(first, second, uncounted),
        states=changed_states(first, second),
        moved=moved_effects(one, other, metrics),
        not_at_best=not_at_best(one.at_best, other.at_best),
        not_compared=reasons,
    )


def write_comparison(comparison: Comparison, path: Path, date: datetime | None = None) -> None:
    """Write the page, at once: one file that needs no network.

    Raises:
        CannotWrite: The file cannot be written.
    """
    write_text(path, comparison_page(comparison, date))


def comparison_page(comparison: Comparison, date: datetime | None = None) -> str:
    """The page as text; the same but for the date, now if None."""
    written = (date or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip()
    moved = comparison.moved
    return (
        environment()
        .get_template("comparison.html")
        .render(
            title=" and ".join(short(run.name, 40) for run in comparison.runs),
            runs=[(run.name, lead(run.frames)) for run in comparison.runs],
            date=written,
            alerts=comparison.alerts,
            findings=comparison.findings,
            figures=_figures(comparison),
            effects=moved_table(moved, primary=True) if len(moved) else None,
            exploratory=moved_table(moved, primary=False) if len(moved) else None,
            not_compared=_reasons(comparison.not_compared),
            shared=shared_sentence(comparison.shared),
            changes=_changes(comparison.changes),
            states=_states(comparison.states),
        )
    )


def _figures(comparison: Comparison) -> list[Drawing]:
    """A chart for each of the primary metrics, those that moved first."""
    moved = comparison.moved
    primary = moved[moved["primary"]]
    of_metric = has_moved(primary).groupby(primary["metric"], sort=False).any()
    drawings = []
    for metric in of_metric.sort_values(ascending=False, kind="stable").index[:MAX_FIGURES]:
        table = moves_table(primary, str(metric))
        if len(table):
            n_all = int((primary["metric"] == metric).sum())
            alt, caption = describe_moves(table, str(metric), n_all)
            plot = partial(plot_moves, table, unit=table["unit"].iloc[0])
            told = table[[column for column in moved.columns if column in table]]
            data = figure_data(f"moves of {metric}", "both runs' tables/effects.csv", told)
            drawings.append(draw(plot, alt=alt, caption=caption, data=data))
    return drawings


def _changes(found: list[Change]) -> Table | None:
    if not found:
        return None
    rows = [[one.what, one.first, one.second] for one in found[:MAX_SHOWN]]
    note = f"{MAX_SHOWN} of {len(found):,} changes." if len(found) > MAX_SHOWN else ""
    columns = dict.fromkeys(("What", "First run", "Second run"), False)
    groups = [one.part for one in found[:MAX_SHOWN]]
    return make_table("What is not the same in both runs.", columns, rows, None, note, groups)


def _states(states: pd.DataFrame) -> Table | None:
    if states.empty:
        return None
    rows = [
        [row.measure, row.first, row.second, number(row.n), number(row.n_cells), row.example]
        for row in records(states.head(MAX_SHOWN))
    ]
    columns = {
        "Measure": False,
        "First run": False,
        "Second run": False,
        "Trials": True,
        "Cells": True,
        "For example": False,
    }
    return make_table("Trials of both runs that ended in another state.", columns, rows)


def _reasons(reasons: dict[str, str]) -> Table | None:
    if not reasons:
        return None
    rows = [[metric, why] for metric, why in reasons.items()]
    columns = {"Metric": False, "Why": False}
    return make_table("Metrics of both runs that are not compared.", columns, rows)


def summary(comparison: Comparison) -> str:
    """What a console shows: a line a finding."""
    lines = [
        f"{which}: {run.name}: {_counts(run.frames)}"
        for which, run in zip(("first", "second"), comparison.runs, strict=True)
    ]
    lines += comparison.alerts
    by_part: dict[str, list[Change]] = {}
    for one in comparison.changes:
        by_part.setdefault(one.part, []).append(one)
    for part, found in by_part.items():
        lines.append(f"{counted(len(found), f'{part} change')}:")
        lines += [f"  {one.what}: {one.first} → {one.second}" for one in found[:MAX_SAID]]
        if len(found) > MAX_SAID:
            lines.append(f"  and {len(found) - MAX_SAID:,} more")
    if not comparison.changes:
        lines.append("nothing that is known of them differs")
    lines.append(shared_sentence(comparison.shared))
    n_states = int(comparison.states["n"].sum())
    if n_states:
        lines.append(f"{counted(n_states, 'result')} in both ended in another state")
    lines += [finding.text for finding in comparison.findings]
    if comparison.not_compared:
        n = len(comparison.not_compared)
        lines.append(f"not compared: {counted(n, 'metric')}, of times, costs or another unit")
    return "\n".join(lines)


def _counts(frames: Frames) -> str:
    counts = trial_counts(frames)
    told = [f"{n:,} {state}" for state, n in counts.items() if n]
    return f"{counted(sum(counts.values()), 'trial')}, {', '.join(told) or 'none'}"
