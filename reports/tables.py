"""Tables for the page and for tables/*.csv."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from reports.cautions import caution_table
from reports.csv_text import csv_pieces
from reports.effects import EFFECT_COLUMNS
from reports.files import write_pieces
from reports.frames import Frames
from reports.interactions import INTERACTION_COLUMNS
from reports.pairs import baseline_level, ordered_levels
from reports.panel import REASONS, Panel, panel
from reports.tradeoffs.figures import tradeoff_rows
from reports.training.compared import Compared, compare
from reports.training.tables import training_tables

FRAMES = (
    "blocks",
    "cells",
    "trials",
    "metrics",
    "profiles",
    "metric_info",
    "factors",
    "components",
    "environment",
    "settings",
    "warnings",
)

WIN_COLUMNS = ("factor", "level", "reference", "metric", "better", "win_rate", "n_ranked")
"""How often each level beats its reference, on metrics of which a direction is better."""


def write_tables(frames: Frames, directory: Path, compared: Compared | None = None) -> list[Path]:
    """Write `run_tables` as CSV, each file at once.

    NaN is written as ``NaN`` and infinities as ``inf`` and ``-inf``, unknown flags as nothing.
    Text that a spreadsheet would run, and text that begins with an apostrophe, gets a leading
    apostrophe: whoever reads it back takes one away.

    Args:
        frames: The run.
        directory: The folder ``tables/``; made if it is not there.
        compared: `reports.training.compared.compare` of the run, if already computed.

    Raises:
        CannotWrite: The folder cannot be written.
    """
    paths: list[Path] = []
    for name, content in run_tables(frames, compared).items():
        path = directory / f"{name}.csv"
        write_pieces(path, csv_pieces(content))
        paths.append(path)
    return paths


def run_tables(frames: Frames, compared: Compared | None = None) -> dict[str, pd.DataFrame]:
    """Every frame of a run and what was made of them, by name.

    Beside the frames: ``effects``, ``interactions``, ``cautions`` (what stands beside them,
    `reports.cautions`), ``tradeoffs`` (`reports.tradeoffs.figures.tradeoff_rows`), ``variance``
    (`share_of_variance`), ``win_rates`` (`WIN_COLUMNS`), and of a run that trained something those
    of `reports.training.tables`.

    Args:
        frames: The run.
        compared: `reports.training.compared.compare` of it, if already computed.
    """
    found = compare(frames) if compared is None else compared
    table, both = found.effects, found.interactions
    tables = {name: getattr(frames, name) for name in FRAMES}
    tables["effects"] = table[list(EFFECT_COLUMNS)]
    tables["interactions"] = both[list(INTERACTION_COLUMNS)]
    tables["cautions"] = caution_table(found.beside, found.joint)
    tables["variance"] = found.variance
    tables["win_rates"] = table.loc[table["better"] != "neither", list(WIN_COLUMNS)]
    tables["tradeoffs"] = tradeoff_rows(found.tradeoffs)
    tables |= training_tables(found)
    return dict(sorted(tables.items()))


def cell_table(frames: Frames, data: Panel | None = None) -> pd.DataFrame:
    """Every cell with its primary metrics set against the baseline cell, in the grid's order.

    Columns: ``cell``, ``label``, ``baseline``, ``metric``, ``unit``, ``scale``, ``mean`` (over
    seeds; geometric on a log scale), ``delta`` (to the baseline cell, over the seeds both have: a
    difference, or a ratio on a log scale; NaN without any, and where either lost a value),
    ``n_seeds`` (values used), ``n_asked``, ``state`` (``""``, or the
    gravest reason for a value that is not used). A row for each cell and primary metric.
    """
    data = panel(frames) if data is None else data
    baseline = _is_baseline(frames)
    parts: list[pd.DataFrame] = []
    for index, info in data.info.iterrows():
        if not info["primary"]:
            continue
        mean, count, grave = _cell_means(data, int(str(index)))
        delta = _paired(data, int(str(index)), baseline)
        log = info["scale"] == "log"
        parts.append(
            pd.DataFrame(
                {
                    "cell": frames.cells["cell"],
                    "label": frames.cells["label"],
                    "baseline": baseline,
                    "metric": info["metric"],
                    "unit": info["unit"],
                    "scale": info["scale"],
                    "mean": np.exp(mean) if log else mean,
                    "delta": np.exp(delta) if log else delta,
                    "n_seeds": count,
                    "n_asked": len(data.seeds),
                    "state": grave,
                }
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _cell_means(data: Panel, index: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(C,) means of usable values, how many there are, the gravest reason for the rest."""
    usable = data.usable[index]
    count = usable.sum(axis=1)
    total = np.where(usable, data.values[index], 0.0).sum(axis=1)
    mean = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
    worst = data.reason[index].max(axis=1, initial=0)
    return mean, count, ["" if code == 0 else REASONS[code] for code in worst]


def _paired(data: Panel, index: int, baseline: np.ndarray) -> np.ndarray:
    """(C,) means of the differences to the baseline cell over the seeds both have."""
    n_cells = len(baseline)
    if not baseline.any():
        return np.full(n_cells, np.nan)
    at = int(np.flatnonzero(baseline)[0])
    both = data.usable[index] & data.usable[index][at]
    difference = np.where(both, data.values[index] - data.values[index][at], 0.0).sum(axis=1)
    count = both.sum(axis=1)
    mean = np.divide(difference, count, out=np.full(n_cells, np.nan), where=count > 0)
    lost = (data.reason[index] >= REASONS.index("no value")).any(axis=1)
    return np.where(lost | lost[at], np.nan, mean)


def _is_baseline(frames: Frames) -> np.ndarray:
    """(C,) which cell has the baseline level of every factor."""
    flags = np.ones(len(frames.cells), dtype=bool)
    for factor in frames.factors["factor"].unique():
        flags &= (frames.cells[factor] == baseline_level(frames, factor)).to_numpy(dtype=bool)
    return flags


def level_table(frames: Frames, metrics: Iterable[str], data: Panel | None = None) -> pd.DataFrame:
    """Means over cells and seeds of some metrics, by factor and level.

    Columns: ``factor``, ``level``, ``baseline``, ``n_cells`` (with a usable value of every metric),
    then a column a metric (geometric mean on a log scale).
    """
    data = panel(frames) if data is None else data
    chosen = [i for i, metric in enumerate(data.info["metric"]) if metric in set(metrics)]
    means = [_cell_means(data, i)[0] for i in chosen]
    whole = np.isfinite(np.array(means)).all(axis=0) if means else np.zeros(len(frames.cells), bool)
    rows: list[dict[str, object]] = []
    for factor in frames.factors["factor"].unique():
        for level in ordered_levels(frames, factor):
            here = whole & (frames.cells[factor] == level).to_numpy(dtype=bool)
            row: dict[str, object] = {
                "factor": factor,
                "level": level,
                "baseline": level == baseline_level(frames, factor),
                "n_cells": int(here.sum()),
            }
            for i, mean in zip(chosen, means, strict=True):
                value = mean[here].mean() if here.any() else np.nan
                log = data.info["scale"].iloc[i] == "log"
                row[data.info["metric"].iloc[i]] = np.exp(value) if log else value
            rows.append(row)
    return pd.DataFrame(rows)


def warning_table(frames: Frames) -> pd.DataFrame:
    """What trials warned of, grouped by its text, the most frequent first.

    Columns: ``text``, ``measure``, ``n`` (trials), ``n_cells``, ``example`` (the label of a cell).
    """
    told = frames.warnings.merge(frames.cells[["cell", "label"]], on="cell", how="left")
    grouped = told.groupby(["text", "measure"], sort=True, observed=True)
    table = grouped.agg(
        n=("seed", "size"), n_cells=("cell", "nunique"), example=("label", "first")
    ).reset_index()
    return table.sort_values(["n"], ascending=False, kind="stable", ignore_index=True)


def loss_table(frames: Frames) -> pd.DataFrame:
    """Trials that are not done, grouped by what became of them, the most frequent first.

    Columns: ``state``, ``measure``, ``message``, ``n`` (trials), ``n_cells``, ``example`` (the
    label of one cell). Trials that have merely not run yet are left out.
    """
    lost = frames.trials[~frames.trials["state"].isin(["done", "missing"])]
    lost = lost.merge(frames.cells[["cell", "label"]], on="cell", how="left")
    grouped = lost.groupby(["state", "measure", "message"], sort=True, observed=True)
    table = grouped.agg(
        n=("seed", "size"), n_cells=("cell", "nunique"), example=("label", "first")
    ).reset_index()
    return table.sort_values(["n"], ascending=False, kind="stable", ignore_index=True)
