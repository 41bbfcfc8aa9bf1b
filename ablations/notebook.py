"""How a run and a grid look in a notebook: small, and every name in it escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from markupsafe import Markup

from ablations.printable import line
from reports.visible import visible
from reports.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from ablations.grid import Grid
    from ablations.storage.overview import Overview

MAX_LEVELS = 8
"""Levels of a factor that are listed; the rest is counted."""

MAX_FACTORS = 12
_NAME = 60  # characters of a name


def run_html(overview: Overview, out: Path) -> str:
    """A run: how far it got, what it varies, and where its report is."""
    page = out / "report.html"
    where = str(page) if page.exists() else f"not written yet: ablations report {out}"
    states = ", ".join(f"{n:,} {state}" for state, n in overview.states.items())
    return _table(
        overview.name,
        {
            "trials": f"{overview.n_trials:,}: {states or 'none'}",
            "cells": f"{overview.n_cells:,}",
            "seeds": _listed(map(str, overview.seeds)),
            "measures": _listed(overview.measures),
            "report": where,
        },
        overview.factors,
        {},
    )


def grid_html(grid: Grid) -> str:
    """A grid: what it varies and measures."""
    return _table(
        grid.name,
        {
            **({"recipe": grid.recipe} if grid.recipe else {}),
            "design": f"{grid.design.replace('_', ' ')}, {_counted(grid)}",
            "seeds": _listed(map(str, grid.seeds)),
            "measures": _listed(measure.spec.name for measure in grid.measures),
        },
        {factor.name: [level.label for level in factor.levels] for factor in grid.factors},
        grid.baseline,
    )


def grid_line(grid: Grid) -> str:
    """A grid in a line."""
    names = ", ".join(factor.name for factor in grid.factors)
    return line(
        f"<Grid {grid.name!r}: {_counted(grid)} of {counted(len(grid.factors), 'factor')} "
        f"({names}), {counted(len(grid.seeds), 'seed')}>"
    )


def _counted(grid: Grid) -> str:
    sizes = [len(factor.levels) for factor in grid.factors]
    n = prod(sizes) if grid.design == "full" else 1 + sum(size - 1 for size in sizes)
    return counted(n, "cell") + (" before exclusions" if grid.exclude else "")


def _table(
    title: str,
    rows: Mapping[str, str],
    factors: Mapping[str, Sequence[str]],
    baseline: Mapping[str, str],
) -> str:
    shown = dict(list(factors.items())[:MAX_FACTORS])
    told = [
        *rows.items(),
        *((name, _listed(levels, baseline.get(name))) for name, levels in shown.items()),
    ]
    if len(factors) > len(shown):
        told.append(("…", f"{len(factors) - len(shown):,} more factors"))
    body = Markup("").join(
        Markup(
            '<tr><th style="text-align: left">{}</th><td style="text-align: left">{}</td></tr>'
        ).format(_short(name), text)
        for name, text in map(_seen, told)
    )
    return str(
        Markup("<table><caption>{}</caption><tbody>{}</tbody></table>").format(_short(title), body)
    )


def _seen(row: tuple[str, str]) -> tuple[str, str]:
    name, text = row
    return name, visible(text)


def _listed(names: Iterable[str], baseline: str | None = None) -> str:
    every = list(names)
    told = [_short(name) + (" (baseline)" if name == baseline else "") for name in every]
    more = [f"… {len(every) - MAX_LEVELS:,} more"] if len(every) > MAX_LEVELS else []
    return ", ".join([*told[:MAX_LEVELS], *more])


def _short(name: str) -> str:
    return line(name, _NAME)
