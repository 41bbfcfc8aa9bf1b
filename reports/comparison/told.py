"""Which effects moved between two runs, in sentences and as tables of a page."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.comparison.moved import PAIRED
from reports.comparison.states import Shared
from reports.finding import EFFECT, NOISE, UNDECIDED, Finding
from reports.listing import Table, make_table
from reports.records import records
from reports.wording import PERCENT, bounds, change, counted, distinct, number, short

MAX_EFFECTS = 500
_NONE = "—"


def verdict(row: Any) -> str:
    """What is concluded of a row of `reports.comparison.moved.moved_effects`."""
    if row.lost:
        return "values lost, no conclusion"
    if pd.isna(row.within_noise):
        return "not compared" if not row.n_pairs else "no interval"
    if row.exact:
        return "exact: the same" if row.within_noise else "exact: moved"
    if _is_same(row):
        return "the same in each pair and seed"
    return "no move shown" if row.within_noise else "moved"


def _is_same(row: Any) -> bool:
    """Whether all data of an effect that both runs have are the same, which tells of no noise."""
    return bool(row.how == PAIRED and row.unchanged and not row.exact and not row.lost)


def _of_part(moved: pd.DataFrame) -> NDArray[np.bool_]:
    """Rows that are compared over less than a run's own effect is of."""
    less = [moved[n] < moved[f"{n}_{which}"] for n in ("n_pairs", "n_seeds") for which in (1, 2)]
    return np.asarray(np.logical_or.reduce(less) & (moved["how"] == PAIRED), dtype=bool)


def has_moved(moved: pd.DataFrame) -> "pd.Series[bool]":
    """Rows of effects that are shown to be others in the second run."""
    shown = moved["within_noise"].eq(False).fillna(False).astype(bool)
    return shown & ~moved["lost"]


def move_findings(moved: pd.DataFrame) -> Iterator[Finding]:
    """Effects on primary metrics that moved, the surest first; then what did not and what is open.

    Args:
        moved: `reports.comparison.moved.moved_effects`.
    """
    primary = moved[moved["primary"]]
    names = _level_names(moved)
    for row in records(primary[has_moved(primary)]):
        yield Finding(
            kind=EFFECT,
            claim=f"{row.metric}: the effect of {_contrast(row, names[row.factor])} was "
            f"{_own(row, 1)} and is {_own(row, 2)}"
            f"{f'; {row.caution}' if row.caution else ''}",
            support=_support(row),
            metric=row.metric,
            factor=row.factor,
            level=row.level,
        )
    verdicts = [verdict(row) for row in records(primary)]
    alike = np.isin(verdicts, ["the same in each pair and seed", "exact: the same"])
    partly = alike & _of_part(primary)
    same, in_part = int((alike & ~partly).sum()), int(partly.sum())
    still = sum(one == "no move shown" for one in verdicts)
    undecided = sum(one in ("no interval", "not compared") for one in verdicts)
    lost = sum(one.startswith("values lost") for one in verdicts)
    if same:
        yield Finding(
            kind=NOISE,
            claim=f"Exactly the same in both runs: {counted(same, 'effect')} on primary metrics",
            support="no seed changes them, or they differ in no pair and seed that both runs have",
        )
    if in_part:
        yield Finding(
            kind=NOISE,
            claim="The same over the pairs and seeds that both runs have: "
            f"{counted(in_part, 'effect')} on primary metrics",
            support="one of the runs has others, too, with which its own effect may be another",
        )
    if still:
        yield Finding(
            kind=NOISE,
            claim=f"No move is shown of {counted(still, 'effect')} on primary metrics",
            support="inside seed noise; that is no proof that there is none",
        )
    if lost:
        yield Finding(
            kind=UNDECIDED,
            claim=f"Nothing is concluded of {counted(lost, 'effect')} on primary metrics",
            support="trials diverged, failed or gave no value in one of the runs",
        )
    if undecided:
        yield Finding(
            kind=UNDECIDED,
            claim=f"No interval can be given for {counted(undecided, 'effect')} on primary metrics",
            support="a single seed, seeds that agree, or no pair of cells",
        )
    rest = moved[~moved["primary"]]
    if len(rest):
        n = int(has_moved(rest).sum())
        yield Finding(
            kind=NOISE,
            claim=f"Of {counted(len(rest), 'effect')} on the other metrics {n:,} moved",
            support=f"false discovery rate 5{PERCENT}, exploratory",
        )


def moved_table(moved: pd.DataFrame, *, primary: bool) -> Table | None:
    """Effects of both runs and how they differ, by metric, those that moved first.

    Args:
        moved: `reports.comparison.moved.moved_effects`.
        primary: On the metrics declared primary, or on the others.
    """
    table = moved[moved["primary"] == primary]
    if table.empty:
        return None
    table = table.assign(moved=has_moved(table))
    first = {name: n for n, name in enumerate(table["metric"].unique())}
    table = table.assign(place=table["metric"].map(first))
    table = table.sort_values(["place", "moved"], ascending=[True, False], kind="stable")
    listed = list(records(table.head(MAX_EFFECTS)))
    columns = {
        "Effect": False,
        "First run": True,
        "Second run": True,
        "Second beyond first": True,
        "Adjusted 95\u00a0% interval": True,
        "Verdict": False,
        "Compared": False,
        "Pairs": True,
        "Seeds": True,
    }
    note = ""
    if len(table) > MAX_EFFECTS:
        note = f"{MAX_EFFECTS} of {len(table):,} effects."
    caption = (
        "Each effect in both runs, and what it is in the second beyond the first: a ratio of "
        "ratios for metrics on a log scale, else a difference of differences. Paired: over the "
        "cells and seeds that both runs have, while either run's own figure is of all that it has; "
        "apart: as two samples (Welch). Adjusted by "
        f"{'Holm' if primary else 'Benjamini–Hochberg'} over all rows."
    )
    return make_table(
        caption,
        columns,
        [_row(row) for row in listed],
        ["" if row.moved else "faint" for row in listed],
        note,
        [row.metric for row in listed],
    )


def _row(row: Any) -> list[str]:
    known = not pd.isna(row.estimate)
    has_width = not (pd.isna(row.low) or row.exact or _is_same(row))
    return [
        f"{row.factor}: {row.reference} → {row.level}",
        *(_figure(row, number) for number in (1, 2)),
        change(row.estimate, row.scale, row.low, row.high) if known else _NONE,
        bounds(row.low, row.high, row.scale, row.estimate) if has_width else _NONE,
        f"{verdict(row)}{f'; {row.caution}' if row.caution else ''}",
        f"{row.how}{row.rates and f', {row.rates}'}",
        number(row.n_pairs),
        number(row.n_seeds),
    ]


def _figure(row: Any, which: int) -> str:
    estimate, low, high = (getattr(row, f"{n}_{which}") for n in ("estimate", "low", "high"))
    if pd.isna(estimate):
        return _NONE
    said = change(estimate, row.scale, low, high)
    if pd.isna(low) or low == high:
        return said
    return f"{said} ({bounds(low, high, row.scale, estimate)})"


def _own(row: Any, which: int) -> str:
    estimate, low, high = (getattr(row, f"{n}_{which}") for n in ("estimate", "low", "high"))
    unit = f" {row.unit}" if row.scale == "linear" and row.unit else ""
    return f"{change(estimate, row.scale, low, high)}{unit}"


def _level_names(moved: pd.DataFrame) -> dict[str, dict[str, str]]:
    """By factor: each of the levels compared as it is written, no two alike."""
    return {
        str(factor): distinct([*dict.fromkeys([*rows["level"], *rows["reference"]])])
        for factor, rows in moved.groupby("factor", sort=False)
    }


def _contrast(row: Any, names: dict[str, str]) -> str:
    return f"{short(row.factor)} = {names[row.level]} instead of {names[row.reference]}"


def _support(row: Any) -> str:
    if row.exact:
        return f"exact, no seed changes it: {change(row.estimate, row.scale)} beyond the first"
    how = (
        "the same cells and seeds in both runs"
        if row.how == PAIRED
        else "two samples of seeds, compared as such"
    )
    interval = bounds(row.low, row.high, row.scale, row.estimate)
    return (
        f"{change(row.estimate, row.scale, row.low, row.high)} beyond the first, adjusted "
        f"95{PERCENT} interval {interval}; {counted(row.n_pairs, 'pair')}, "
        f"{counted(row.n_seeds, 'seed')}; {how}{row.rates and f'; {row.rates}'}"
    )


def shared_sentence(shared: Shared) -> str:
    """What two runs have in common, in sentences."""
    told = [
        f"{counted(shared.n_cells, 'cell')} and {counted(shared.n_seeds, 'seed')} are in both runs",
        f"{counted(shared.n_first, 'cell')} {'is' if shared.n_first == 1 else 'are'} in the first "
        f"alone, {shared.n_second:,} in the second alone",
    ]
    total = shared.n_alike + shared.n_other
    if total:
        told.append(
            f"of {counted(total, 'result')} in both, {shared.n_alike:,} come from the same code, "
            "options and environment"
        )
    if shared.n_differing:
        told.append(
            f"yet {counted(shared.n_differing, 'value')} of these differ: something that is not "
            "known to bend results does"
        )
    if shared.n_values and not shared.n_unequal:
        n = shared.n_values
        every = f"all {n:,} values" if n > 1 else "the only value"
        are = "are" if n > 1 else "is"
        told.append(f"{every} that both hold and that can be compared {are} the same in both")
    return f"{'; '.join(told)}."
