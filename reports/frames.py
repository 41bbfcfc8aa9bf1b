"""The tidy tables a report is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

STATES = ("done", "diverged", "failed", "crashed", "timeout", "skipped", "missing")
"""The states of a measure of a trial; `missing` has not run yet."""

NOT_APPLICABLE = "not applicable"
"""How the message of a skipped trial begins to which its measure does not apply."""

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "state": STATES,
    "axis": ("depth", "step", "context"),
    "form": ("metric", "profile"),
    "better": ("higher", "lower", "neither"),
    "scale": ("linear", "log"),
    "origin": ("given", "default", "factor", "recipe", "scaled"),
}

_BLOCKS = {"block": "text", "call": "integer", "part": "text", "inputs": "text"}
_WARNINGS = {"cell": "text", "seed": "integer", "measure": "text", "text": "text"}

# What a column holds: text (never missing), integer, number (NaN and infinity are values), flag.
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "cells": {"cell": "text", "label": "text"},
    "trials": {
        "cell": "text",
        "seed": "integer",
        "measure": "text",
        "state": "text",
        "message": "text",
        "marks": "text",
        "seconds": "number",
    },
    "metrics": {"cell": "text", "seed": "integer", "metric": "text", "value": "number"},
    "profiles": {
        "cell": "text",
        "seed": "integer",
        "profile": "text",
        "axis": "text",
        "position": "integer",
        "step": "integer",
        "value": "number",
    },
    "metric_info": {
        "metric": "text",
        "form": "text",
        "measure": "text",
        "unit": "text",
        "better": "text",
        "scale": "text",
        "primary": "flag",
        "summary": "text",
        "convention": "text",
    },
    "factors": {"factor": "text", "level": "text", "position": "integer", "baseline": "flag"},
    "settings": {"key": "text", "value": "text", "origin": "text"},
    "components": {
        "kind": "text",
        "name": "text",
        "plugin": "text",
        "version": "text",
        "options": "text",
        "summary": "text",
        "source": "text",
    },
    "environment": {"key": "text", "value": "text"},
    "warnings": _WARNINGS,
    "blocks": _BLOCKS,
}

_OPTIONAL: Mapping[str, Mapping[str, str]] = {
    "metric_info": {
        "exact": "flag",
        "scales_with": "text",
        "defined_when_diverged": "flag",
        "compared": "flag",
        "may_be_infinite": "flag",
    },
    "components": {"conformance": "text"},
    "blocks": {"reason": "text"},
}
"""Columns that a frame may have."""

_FORM = {form: f"metric_info, form {form}" for form in _CHOICES["form"]}

_KEYS: Mapping[str, list[str]] = {
    "cells": ["cell"],
    "trials": ["cell", "seed", "measure"],
    "metrics": ["cell", "seed", "metric"],
    "warnings": ["cell", "seed", "measure", "text"],
    "blocks": ["block", "call"],
    "profiles": ["profile", "cell", "seed", "axis", "position", "step"],
    "metric_info": ["form", "metric"],
    "factors": ["factor", "level"],
}


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Everything a report says about a run, as tidy tables: one observation a row.

    Text is never missing (write ``""``), rows are unique by their key columns, and a frame without
    rows still has its columns. A run that is not finished is a valid one.

    Attributes:
        name: The grid's name.
        grid: The grid as it was run, YAML text.
        cells: ``cell`` (its hash), ``label``, then one column a factor, named as the factor and
            holding level labels such as ``gqa(n_kv_heads=2)``, ``true`` or ``0.001``. Skipped cells
            are here too.
        trials: ``cell``, ``seed``, ``measure``, ``state`` (one of `STATES`), ``message``,
            ``marks`` (joined by commas, such as ``cancelled_probe``), ``seconds``.
        metrics: ``cell``, ``seed``, ``metric``, ``value``. NaN and infinity are values: of a
            diverged trial, or of what was never reached. A metric that was not measured has no row.
        profiles: ``cell``, ``seed``, ``profile``, ``axis`` (``depth``, ``step`` or ``context``),
            ``position``, ``step`` (0 if unused), ``value``.
        metric_info: A row for each metric and each profile (one of either may share a name):
            ``metric``, ``form`` (``metric`` or ``profile``), ``measure``, ``unit``, ``better``
            (``higher``, ``lower`` or ``neither``), ``scale`` (``linear``: levels are compared by
            difference; ``log``: by ratio), ``primary``, ``summary`` and ``convention`` (a sentence
            each, or ``""``). An optional flag ``exact`` says that no seed can change the metric, as
            of a parameter count; it matters where a run has a single seed, which cannot show it.
            An optional text ``scales_with`` names the metric in whose units this one changes
            (``""``: none): where levels differ in that size, they may differ here by it alone.
            Optional flags, as if false, true and false where they are not given:
            ``defined_when_diverged`` says that the metric means the same in a diverged trial, as
            whether it learnt does, so that a finite value of one is compared too; ``compared`` that
            it is compared at all, which what depends on the machine's load is not;
            ``may_be_infinite`` that infinity is its value in a trial that is done, as of steps to a
            loss that was not reached, which leaves nothing to compare but a last rank.
        factors: ``factor``, ``level``, ``position`` (order in the grid), ``baseline`` (true for one
            level of each factor).
        settings: ``key``, ``value`` as text, ``origin``: ``given``, ``default`` or ``factor``; of
            a grid that starts from a published model also ``recipe``, as that says, and ``scaled``,
            worked out from it for other sizes.
        components: ``kind``, ``name``, ``plugin``, ``version``, ``options``, ``summary``,
            ``source``. An optional text ``conformance`` says what examining it found.
        environment: ``key``, ``value`` as text.
        warnings: What trials warned of: ``cell``, ``seed``, ``measure``, ``text``; none if not
            given.
        blocks: How each distinct block is wired: ``block`` (its placement), ``call`` (from 1, in
            order), ``part`` (``norm``, ``attention``, ``feed_forward``, ``residual``; ``out`` is
            what leaves the block; ``unseen`` alone where the block could not be watched) and
            ``inputs``, the calls that it was computed from, joined by commas, 0 for the stream that
            enters the block. An optional text ``reason`` says why one could not be watched. None if
            not given.
        arrays: Arrays such as attention maps by cell, seed and full name, empty if there are none.
            A mapping may read an array only when it is asked for, anew each time.

    Raises:
        ValueError: A column is missing or holds what it must not; the message names frame and
            column.
    """

    name: str
    grid: str
    cells: pd.DataFrame
    trials: pd.DataFrame
    metrics: pd.DataFrame
    profiles: pd.DataFrame
    metric_info: pd.DataFrame
    factors: pd.DataFrame
    settings: pd.DataFrame
    components: pd.DataFrame
    environment: pd.DataFrame
    warnings: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*_WARNINGS]))
    blocks: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*_BLOCKS]))
    arrays: Mapping[tuple[str, int, str], NDArray[Any]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Check every frame."""
        for name, columns in _COLUMNS.items():
            _check_columns(name, getattr(self, name), columns)
        for name, key in _KEYS.items():
            _check_unique(name, getattr(self, name), key)
        self._check_optional()
        self._check_factors()
        for name in ("trials", "metrics", "profiles", "warnings"):
            _check_known(name, "cell", getattr(self, name), self.cells["cell"], "cells.cell")
        for name, column, form in (
            ("metrics", "metric", "metric"),
            ("profiles", "profile", "profile"),
        ):
            _check_known(name, column, getattr(self, name), self._named(form), _FORM[form])
        for cell in sorted({cell for cell, _, _ in self.arrays} - set(self.cells["cell"])):
            raise ValueError(f"arrays: unknown cell {cell!r}; expected one of: cells.cell")

    def _named(self, form: str) -> "pd.Series[str]":
        return self.metric_info.loc[self.metric_info["form"] == form, "metric"]

    def _check_optional(self) -> None:
        for name, columns in _OPTIONAL.items():
            frame = getattr(self, name)
            for column in columns.keys() & set(frame.columns):
                _check_kind(name, column, frame[column], columns[column])
        if "scales_with" in self.metric_info:
            scaled = self.metric_info[self.metric_info["scales_with"] != ""]
            _check_known(
                "metric_info", "scales_with", scaled, self._named("metric"), _FORM["metric"]
            )

    def _check_factors(self) -> None:
        named = list(self.factors["factor"].unique())
        present = [column for column in self.cells.columns if column not in ("cell", "label")]
        if set(named) != set(present):
            raise ValueError(
                "frame 'cells': its factor columns must be the factors of frame 'factors', "
                f"expected {sorted(named)}, got {sorted(map(str, present))}"
            )
        for factor, rows in self.factors.groupby("factor", sort=False):
            baselines = int(rows["baseline"].sum())
            if baselines != 1:
                raise ValueError(
                    f"frame 'factors', column 'baseline': factor {factor!r} must have exactly one "
                    f"baseline level, got {baselines}"
                )
            _check_kind("cells", str(factor), self.cells[factor], "text")
            known = rows["level"]
            _check_known("cells", str(factor), self.cells, known, "factors.level")
        if named and self.cells.duplicated(subset=named).any():
            raise ValueError("frame 'cells': two cells have the same level of every factor")


def not_applicable(trials: pd.DataFrame) -> "pd.Series[bool]":
    """Which trials are skipped since the measure does not apply to them, not for a constraint."""
    said = trials["message"].astype(object).str.startswith(NOT_APPLICABLE)
    return (trials["state"] == "skipped") & said.fillna(False).astype(bool)


def _check_columns(name: str, frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ValueError(
            f"frame {name!r}: missing column {', '.join(map(repr, missing))}; "
            f"expected {list(columns)}, got {[str(column) for column in frame.columns]}"
        )
    for column, kind in columns.items():
        _check_kind(name, column, frame[column], kind)
        if column in _CHOICES:
            allowed = pd.Series(_CHOICES[column])
            _check_known(name, column, frame, allowed, ", ".join(_CHOICES[column]))


def _check_kind(name: str, column: str, series: pd.Series, kind: str) -> None:
    if series.empty:  # an empty column has whatever dtype its maker happened to leave
        return
    values = series.dtype.categories if isinstance(series.dtype, pd.CategoricalDtype) else series
    right = {
        "text": types.is_string_dtype(values) and not series.isna().any(),
        "integer": types.is_integer_dtype(values),
        "number": types.is_numeric_dtype(values) and not types.is_bool_dtype(values),
        "flag": types.is_bool_dtype(values),
    }[kind]
    if not right:
        raise ValueError(
            f"frame {name!r}, column {column!r}: expected {kind} in every row, got {series.dtype}"
            + (" with missing values" if series.isna().any() else "")
        )


def _check_unique(name: str, frame: pd.DataFrame, key: list[str]) -> None:
    repeated = frame.duplicated(subset=key)
    if repeated.any():
        first = frame.loc[repeated, key].iloc[0].to_dict()
        raise ValueError(f"frame {name!r}: {', '.join(key)} must be unique, got twice {first}")


def _check_known(
    name: str, column: str, frame: pd.DataFrame, known: "pd.Series[str]", where: str
) -> None:
    values = pd.Series(frame[column].unique(), dtype=object)
    unknown = sorted(map(str, values[~values.isin(list(known))]))
    if unknown:
        raise ValueError(
            f"frame {name!r}, column {column!r}: unknown {', '.join(map(repr, unknown[:5]))}; "
            f"expected one of: {where}"
        )
