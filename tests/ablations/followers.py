"""A small run, and plugins that follow it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ablations
from registry import Catalog, ComponentSpec, PluginRecord, Provenance, discover, hookimpl
from tests.ablations import strangers
from tests.registry.plugins import entry

GRID: dict[str, Any] = {
    "name": "small",
    "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
    "factors": {"norm": ["layernorm", "rmsnorm"]},
    "seeds": 2,
    "measures": ["gradient_flow"],
}


class Recorder:
    """Hears everything and keeps it."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    @hookimpl
    def run_started(self, run: Any) -> None:
        self.heard.append(("run_started", run))

    @hookimpl
    def trial_finished(self, run: Any, trial: Any) -> None:
        self.heard.append(("trial_finished", trial))

    @hookimpl
    def run_finished(self, run: Any, trials: Any) -> None:
        self.heard.append(("run_finished", run, trials))

    def names(self) -> list[str]:
        return [name for name, *_ in self.heard]

    def seeds(self) -> list[tuple[str, int]]:
        return [(e[1].levels["norm"], e[1].seed) for e in self.heard if e[0] == "trial_finished"]


def followed_by(*plugins: object) -> Catalog:
    """The built-ins, strange norms, and plugins named `p0:plugin`, `p1:plugin` …"""
    provenance = Provenance(distribution="strange", version="1.0")
    norms = tuple(
        ComponentSpec(kind="norm", name=name, target=cls, provenance=provenance)
        for name, cls in strangers.NORMS.items()
    )
    records = [PluginRecord(name="strange:norms", version="1.0", state="loaded", specs=norms)]
    points = [entry(plugin, f"p{n}") for n, plugin in enumerate(plugins)]
    return Catalog([*discover().plugins, *records, *discover(points).plugins])


def run(
    out: Path, *plugins: object, given: dict[str, Any] = GRID, **options: Any
) -> ablations.RunSummary:
    """Carry the small grid out in this process, followed by the plugins."""
    catalog = followed_by(*plugins)
    grid = ablations.load_grid(given, catalog)
    return ablations.run(grid, out, executor="inline", catalog=catalog, **options)


def values(out: Path) -> list[tuple[Any, ...]]:
    """Every metric of a run."""
    metrics = ablations.open_run(out).frames().metrics
    return list(metrics.itertuples(index=False, name=None))
