"""A plan of three cells, and results for it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablations.results import MeasureResult, TrialResult
from ablations.store import (
    PlannedCellRow,
    RunPlan,
)


def cell(name: str, norm: str, skipped: str | None = None) -> PlannedCellRow:
    return PlannedCellRow(
        cell=name, label=f"norm={norm}", levels={"norm": norm}, content={"n": norm}, skipped=skipped
    )


def info(metric: str, form: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "form": form,
        "measure": "flow",
        "unit": "",
        "better": "neither",
        "scale": "linear",
        "primary": True,
        "summary": "",
        "convention": "",
    }


PLAN = RunPlan(
    name="norms",
    grid="name: norms # größer\n",
    cells=(cell("b", "rmsnorm"), cell("a", "layernorm"), cell("c", "none", "3 is odd")),
    seeds=(7, 3),
    measures=("flow",),
    identities={("b", "flow"): "id-b", ("a", "flow"): "id-a"},
    settings=({"key": "depth", "value": "12", "origin": "default"},),
    factors=tuple(
        {"factor": "norm", "level": level, "position": n, "baseline": n == 0}
        for n, level in enumerate(("layernorm", "rmsnorm", "none"))
    ),
    metric_info=(info("flow.ratio", "metric"), info("flow.block", "profile")),
    environment=({"key": "torch", "value": "2"},),
)


def result(name: str = "a", seed: int = 7, **fields: Any) -> TrialResult:
    fields = {"measure": "flow", "identity": f"id-{name}", "state": "done"} | fields
    return TrialResult(cell=name, seed=seed, measures=(MeasureResult(**fields),))


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))
