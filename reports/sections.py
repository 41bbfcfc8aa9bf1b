"""What was measured, as tables of the page: effects, levels, cells."""

from typing import Any

import pandas as pd

from reports.frames import Frames
from reports.listing import Table, make_table
from reports.ranking import (
    BUDGET,
    beyond_noise,
    budget_change,
    depends_on_others,
    has_survivors_only,
    importance,
    size,
)
from reports.records import records
from reports.tables import cell_table, level_table
from reports.wording import bounds, change, counted, number, percent

MAX_EFFECTS = 500
MAX_CELLS = 500
MAX_FACTOR_COLUMNS = 8


def effects_section(effects: pd.DataFrame, *, primary: bool) -> Table | None:
    """Effects on the metrics declared primary, or on the others; by metric, the largest first."""
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
    rows = [_effect_row(row, budget) for row in listed]
    classes = ["" if row.shown or row.depends else "faint" for row in listed]
    note = ""
    if len(table) > MAX_EFFECTS:
        note = f"{MAX_EFFECTS} of {len(table):,} effects; all are in tables/effects.csv."
    columns = {
        "Change": False,
        "Effect": True,
        "Adjusted 95 % interval": True,
        "Range over pairs": True,
        "Verdict": False,
        "Same direction": True,
        "Pairs": True,
        "Seeds": True,
        "Not used": True,
        "Parameters": True,
    }
    caption = (
        "Effects of each level against its factor's baseline, all else equal: ratios for metrics "
        "on a log scale, differences for the others. Intervals are adjusted by "
        f"{'Holm' if primary else 'Benjamini–Hochberg'}. The range over pairs is given where the "
        "effect depends on the other factors. The last column is what the level does to the number "
        "of parameters."
    )
    return make_table(caption, columns, rows, classes, note, [row.metric for row in listed])


def _effect_row(row: Any, budget: dict[tuple[str, str], float]) -> list[str]:
    finite = row.n_pairs > 0
    none = 1.0 if row.scale == "log" else 0.0
    extra = budget.get((row.factor, row.level))
    width = "" if pd.isna(row.low) or row.exact else bounds(row.low, row.high, row.scale)
    return [
        f"{row.factor}: {row.reference} → {row.level}",
        change(row.estimate, row.scale) if finite else "—",
        width or "—",
        bounds(row.pair_low, row.pair_high, row.scale) if row.depends else "—",
        _verdict(row),
        percent(row.same_sign) if finite and row.estimate != none else "—",
        number(row.n_pairs),
        number(row.n_seeds),
        number(row.n_dropped),
        change(1 + extra, "log") if extra is not None else "—",
    ]


def _verdict(row: Any) -> str:
    if row.lost:
        return "values lost, no conclusion"
    if not row.n_pairs:
        return "not compared"
    if pd.isna(row.within_noise):
        return "one seed, no interval"
    if row.unchanged:
        return "unchanged"
    told = "exact" if row.exact else "beyond noise" if not row.within_noise else "inside noise"
    if row.shown and not row.exact and not row.primary:
        told += ", exploratory"
    if row.depends:
        own = f"{told}; " if row.shown or row.exact else ""
        return f"{own}depends on {row.varies_with or 'other factors'}"
    return told


def levels_section(frames: Frames) -> Table | None:
    """Means by level of every metric of the measure that counts parameters."""
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    measures = info.loc[info["metric"] == BUDGET, "measure"]
    metrics = info.loc[info["measure"].isin(measures), "metric"].to_list()
    if not metrics:
        return None
    table = level_table(frames, metrics)
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


def cells_section(frames: Frames) -> Table | None:
    """Every cell's primary metrics and how they differ from the baseline cell's."""
    table = cell_table(frames)
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
        "first (bold), and what changes against it. Where a seed diverged, failed or has no "
        "usable value the mean of the others is not given."
    )
    return make_table(caption, columns, rows, ["base" if base[i] else "" for i in order], note)


def _cell_values(row: Any) -> list[str]:
    lost = row.n_asked - row.n_seeds
    if row.state in ("diverged", "failed", "no value") or not row.n_seeds:
        return [f"{row.state or 'no value'} ({lost} of {row.n_asked})", "—"]
    value = number(row.mean)
    if lost:
        value += f" ({row.n_seeds} of {row.n_asked} seeds)"
    return [value, "—" if pd.isna(row.delta) or row.baseline else change(row.delta, row.scale)]
