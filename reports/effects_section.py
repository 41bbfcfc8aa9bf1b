"""Effects as a table of the page."""

from typing import Any

import pandas as pd

from reports.cautions import Cautions
from reports.listing import Table, make_table
from reports.ranking import (
    beyond_noise,
    budget_change,
    depends_on_others,
    has_survivors_only,
    importance,
    size,
)
from reports.records import records
from reports.wording import bounds, change, number, percent

MAX_EFFECTS = 500

_COLUMNS = {  # with whether they hold numbers
    "Change": False,
    "Effect": True,
    "Adjusted 95\u00a0% interval": True,
    "Range over pairs": True,
    "Verdict": False,
    "Same direction": True,
    "Wins": True,
    "Pairs": True,
    "Seeds": True,
    "Not used": True,
    "Parameters": True,
}
_NONE = "—"
_IF_ANY = {
    "Range over pairs": "The range over pairs is that of their means, noise included; it is given "
    "where the effect depends on the other factors.",
    "Wins": "Wins: how often the level is better, what diverged last.",
    "Parameters": "Parameters: what the level does to their number.",
}
"""Columns that are left out where no row has anything in them, and what the caption says of them
otherwise."""


def effects_section(
    effects: pd.DataFrame, *, primary: bool, beside: Cautions | None = None
) -> Table | None:
    """Effects on the metrics declared primary, or on the others; by metric, the largest first.

    Args:
        effects: `reports.effects.comparisons` of a run.
        primary: Which metrics.
        beside: `reports.cautions.cautions` of it.
    """
    budgets, effects = effects, effects[effects["primary"] == primary]
    if effects.empty:
        return None
    table = effects.assign(
        size=size(effects),
        weight=importance(effects),
        lost=has_survivors_only(effects),
        shown=beyond_noise(effects),
        depends=depends_on_others(effects),
    )
    largest = table["weight"].groupby(table["metric"]).max()
    order = sorted(table["metric"].unique(), key=lambda metric: -largest[metric])
    table["place"] = table["metric"].map({metric: place for place, metric in enumerate(order)})
    table = table.sort_values(
        ["place", "weight", "size"], ascending=[True, False, False], kind="stable"
    )
    budget = budget_change(budgets)
    listed = list(records(table.head(MAX_EFFECTS)))
    rows = [_row(row, budget, beside or {}) for row in listed]
    classes = ["" if row.shown or row.depends else "faint" for row in listed]
    note = ""
    if len(table) > MAX_EFFECTS:
        note = f"{MAX_EFFECTS} of {len(table):,} effects; all are in tables/effects.csv."
    kept = [
        place
        for place, name in enumerate(_COLUMNS)
        if name not in _IF_ANY or any(row[place] != _NONE for row in rows)
    ]
    columns = {name: _COLUMNS[name] for name in (list(_COLUMNS)[place] for place in kept)}
    caption = (
        "Effects of each level against its factor's baseline, all else equal: ratios for metrics "
        "on a log scale, differences for the others. Intervals are adjusted by "
        f"{'Holm' if primary else 'Benjamini–Hochberg'}."
    )
    caption = " ".join([caption, *(said for name, said in _IF_ANY.items() if name in columns)])
    rows = [[row[place] for place in kept] for row in rows]
    return make_table(caption, columns, rows, classes, note, [row.metric for row in listed])


def _row(row: Any, budget: dict[tuple[str, str], float], beside: Cautions) -> list[str]:
    """A text for each of `_COLUMNS`."""
    finite = row.n_pairs > 0
    none = 1.0 if row.scale == "log" else 0.0
    extra = budget.get((row.factor, row.level))
    ends = (row.low, row.high)
    width = "" if pd.isna(row.low) or row.exact else bounds(*ends, row.scale, row.estimate)
    caution = beside.get((row.factor, row.level, row.metric))
    return [
        f"{row.factor}: {row.reference} → {row.level}",
        change(row.estimate, row.scale, *ends) if finite else _NONE,
        width or _NONE,
        bounds(row.pair_low, row.pair_high, row.scale) if row.depends else _NONE,
        _verdict(row) if caution is None else f"{_verdict(row)}; {caution}",
        percent(row.same_sign) if finite and row.estimate != none else _NONE,
        f"{percent(row.win_rate)} of {row.n_ranked:,}" if row.n_ranked else _NONE,
        number(row.n_pairs),
        number(row.n_seeds),
        number(row.n_dropped),
        change(1 + extra, "log") if extra is not None else _NONE,
    ]


def unjudged(row: Any) -> str:
    """Why there is nothing to say of an effect, as a verdict; ``""`` where there is.

    ``lost`` of a row of effects says that it is of survivors alone.
    """
    if row.lost:
        return "values lost, no conclusion"
    if not row.n_pairs:
        return "not compared"
    if pd.isna(row.within_noise):
        return "one seed, no interval" if row.n_seeds == 1 else "seeds agree, no interval"
    return "unchanged" if row.unchanged else ""


def _verdict(row: Any) -> str:
    none = unjudged(row)
    if none:
        return none
    told = "exact" if row.exact else "beyond noise" if not row.within_noise else "inside noise"
    if row.shown and not row.exact and not row.primary:
        told += ", exploratory"
    if row.depends:
        own = f"{told}; " if row.shown or row.exact else ""
        return f"{own}depends on {row.varies_with or 'other factors'}"
    return told
