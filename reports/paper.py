"""The main table of a paper: each level of a factor against its baseline, on primary metrics."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.cautions import Cautions
from reports.frames import Frames
from reports.pairs import levels_by_factor, told_levels
from reports.panel import Panel
from reports.paper_entries import Entry, baseline_entry, level_entry
from reports.paper_words import caption_of, conventions_of
from reports.placebo import PLACEBO
from reports.ranking import BUDGET, budget_change
from reports.records import records
from reports.supported_best import supported_best
from reports.training.pair_rates import PairRates
from reports.wording import change, distinct, short

MAX_METRICS = 3
"""Metrics beside each other in one table; more make further tables."""


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    """A level and its figures, one for each column."""

    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table that a paper can take as it is; all of it plain text.

    Attributes:
        label: What to refer to it by: letters, digits and hyphens.
        caption: What it shows: units, directions, n, and how to read each sign that is in it.
        columns: A heading for each entry of a row.
        groups: By factor its rows, the baseline first.
        notes: Conventions, and what is said beside single figures.
    """

    label: str
    caption: str
    columns: tuple[str, ...]
    groups: Mapping[str, tuple[PaperRow, ...]]
    notes: tuple[str, ...]


def paper_tables(
    frames: Frames,
    data: Panel,
    effects: pd.DataFrame,
    beside: Cautions,
    how: str = "",
    rates: PairRates | None = None,
) -> list[PaperTable]:
    """A table for every few primary metrics, in the order of the run.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        effects: `reports.effects.comparisons` of it.
        beside: `reports.cautions.cautions` of it.
        how: What holds for all figures and is no setting, such as a choice of learning rates.
        rates: The learning rates of its effects on trainings, where they are to be told.
    """
    metrics = [str(name) for name in data.info.loc[data.info["primary"], "metric"]]
    rows = {(row.factor, row.level, row.metric): row for row in records(effects)}
    levels = levels_by_factor(frames)
    if not rows or not metrics:
        return []
    best = supported_best(frames, data, effects, beside.keys())
    budget = budget_change(effects)
    tables: list[PaperTable] = []
    for start in range(0, len(metrics), MAX_METRICS):
        chosen = metrics[start : start + MAX_METRICS]
        shown = effects[effects["metric"].isin(chosen)]
        told = budget if BUDGET not in chosen and any(budget.values()) else {}
        groups = {
            factor: tuple(_rows(factor, names, chosen, rows, best, told, beside))
            for factor, names in levels.items()
            if len(names) > 1
        }
        entries = [e for group in groups.values() for row in group for e in row.entries]
        tables.append(
            PaperTable(
                label=f"{_slug(frames.name)}{'-at-best-rate' if how else ''}-{len(tables) + 1}",
                caption=caption_of(frames, data, shown, chosen, entries, how, rates),
                columns=(
                    *(_heading(data, metric) for metric in chosen),
                    *(["parameters"] if told else []),
                ),
                groups=groups,
                notes=(
                    *conventions_of(frames, chosen),
                    *_said(shown, beside, told_levels(frames), PLACEBO in groups),
                ),
            )
        )
    return tables


def _rows(
    factor: str,
    levels: Sequence[str],
    metrics: Sequence[str],
    rows: Mapping[tuple[str, str, str], Any],
    best: frozenset[tuple[str, str, str]],
    budget: Mapping[tuple[str, str], float],
    beside: Cautions,
) -> Iterator[PaperRow]:
    """The rows of a factor, its baseline first."""
    names = distinct(list(levels))
    of_metric = {
        metric: [rows[factor, level, metric] for level in levels[1:]] for metric in metrics
    }
    references = {metric: _reference(of_metric[metric]) for metric in metrics}
    for level in levels:
        entries = []
        for metric in metrics:
            is_best = (factor, level, metric) in best
            if level == levels[0]:
                entries.append(baseline_entry(references[metric], of_metric[metric], is_best))
            else:
                row = rows[factor, level, metric]
                flagged = (factor, level, metric) in beside
                entries.append(level_entry(row, references[metric], is_best, flagged))
        if budget:
            extra = budget.get((factor, level), 0.0 if level == levels[0] else math.nan)
            text = "—" if math.isnan(extra) else change(1 + extra, "log") if extra else "="
            entries.append(Entry(value="" if level == levels[0] else text))
        baseline = " (baseline)" if level == levels[0] else ""
        yield PaperRow(name=f"{names[level]}{baseline}", entries=tuple(entries))


def _reference(rows: Sequence[Any]) -> float:
    """The mean of the baseline, over the pairs of the level that is compared over most of them.

    A level's figure is this and its paired effect, so that rows of a factor differ by just that,
    also where some pairs are missing.
    """
    most = max(rows, key=lambda row: row.n_pairs * row.n_seeds)
    return float(most.reference_mean)


def _heading(data: Panel, metric: str) -> str:
    better = data.info.loc[data.info["metric"] == metric, "better"].iloc[0]
    return short(metric, 48) + {"higher": " ↑", "lower": " ↓"}.get(better, "")


def _said(
    effects: pd.DataFrame,
    beside: Cautions,
    names: Mapping[str, Mapping[str, str]],
    has_placebo: bool,
) -> Iterator[str]:
    """What is said beside single effects, and what the placebo is."""
    for row in records(effects):
        said = beside.get((row.factor, row.level, row.metric))
        if said is not None:
            yield f"† {short(row.factor)} = {names[row.factor][row.level]}, {row.metric}: {said}."
    if has_placebo:
        yield f"{PLACEBO}: a factor that changes nothing but the random draws."


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
