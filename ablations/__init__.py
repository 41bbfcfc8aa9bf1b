"""From a grid of transformer parts to measured, paired, reported effects.

    import ablations

    grid = ablations.load_grid("grid.yaml")
    ablations.plan(grid)
    ablations.run(grid, "runs/norm-placement")
    ablations.open_run("runs/norm-placement").frames()
    ablations.build({"norm": "rmsnorm"}, seed=0)

Names are imported when they are first used, so that `import ablations` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ablations.decoder import Decoder
    from ablations.engine import RunSummary, run
    from ablations.grid import Grid, load_grid
    from ablations.grids.document import Finding, GridError
    from ablations.library import Run, build, open_run
    from ablations.planning import Plan, plan
    from ablations.results import ArrayValues, ProfileValues
    from ablations.trial import Measurement, NotApplicable, TrialContext

_HOME = {
    "ArrayValues": "results",
    "Decoder": "decoder",
    "Finding": "grids.document",
    "Grid": "grid",
    "GridError": "grids.document",
    "Measurement": "trial",
    "NotApplicable": "trial",
    "Plan": "planning",
    "ProfileValues": "results",
    "Run": "library",
    "RunSummary": "engine",
    "TrialContext": "trial",
    "build": "library",
    "load_grid": "grid",
    "open_run": "library",
    "plan": "planning",
    "run": "engine",
}

__all__ = [
    "ArrayValues",
    "Decoder",
    "Finding",
    "Grid",
    "GridError",
    "Measurement",
    "NotApplicable",
    "Plan",
    "ProfileValues",
    "Run",
    "RunSummary",
    "TrialContext",
    "build",
    "load_grid",
    "open_run",
    "plan",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ablations' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"ablations.{_HOME[name]}"), name)
    except ImportError as error:
        from ablations.shadow import shadowed

        hidden = shadowed()
        if hidden:
            raise ImportError("; ".join(hidden)) from error
        raise


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
