"""A plan as the store keeps it: the cells, what was asked of them, and all that explains them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ablations.environment import bit_bending, environment_rows, processor
from ablations.estimating import PlannedCell
from ablations.examining import Examination, examinations
from ablations.execution import device_of
from ablations.grids.plugins import kept_text
from ablations.identity import components_of, identity
from ablations.planning import Plan
from ablations.read_files import ReadFiles
from ablations.sources import Sources
from ablations.store import PlannedCellRow, RunPlan
from ablations.viewing import Blocks
from registry.contracts import Execution
from registry.metrics import Metric, Profile
from registry.spec import Choice, ComponentSpec, Kind

STATED = ("embedding_scale", "embedding_norm", "final_norm", "tie_embeddings", "dtype")
"""Settings that a figure taken at initialization states, beside the initializer's options."""

STATED_IF_GIVEN = ("embedding_dim", "logit_scale", "logit_softcap")
"""Those that it states where they are not left at what changes nothing."""


def run_plan(
    plan: Plan,
    *,
    executor: str,
    execution: Execution,
    out: Path | None = None,
    where: Mapping[str, str] | None = None,
) -> RunPlan:
    """What `Store.begin` keeps of a run in `out` before its first trial.

    `where` is what `processor` says where trials are carried out, if that is elsewhere. The grid's
    text names the plugins that were asked for as they are found from there.

    Raises: StaleSource, UnreadableFile.
    """
    grid = plan.grid
    where = processor(grid.device) if where is None else where
    bits = bit_bending(dtype=grid.dtype, threads=execution.threads, where=where)
    specs = (*plan.catalog.components(), *plan.catalog.measures())
    sources = Sources({spec.reference: spec.provenance for spec in specs})
    files = ReadFiles()
    against = {m.choice.name for m in grid.measures if m.spec.against_baseline}
    baseline = plan.baseline
    identities: dict[tuple[str, str], str] = {}
    blocks = Blocks()
    for planned in plan.running:
        architecture = planned.cell.architecture
        if architecture is None:
            continue
        blocks.add(architecture)
        for choice in planned.cell.measures:
            beside = baseline if choice.name in against else None
            identities[planned.cell.cell, choice.name] = identity(
                planned.cell.content, architecture, choice, bits, sources, files, beside
            )
    to_examine, of_cells = examinations(plan, sources)
    to_view = blocks.viewings(sources, device_of(where))
    return RunPlan(
        name=grid.name,
        grid=grid.text if out is None else kept_text(grid.document, plan.catalog, out),
        cells=plan.cells.then(_cell_row),
        seeds=grid.seeds,
        measures=tuple(measure.choice.name for measure in grid.measures),
        identities=identities,
        examinations=to_examine,
        examined=of_cells,
        viewings={viewing.key: viewing for viewing in to_view},
        settings=tuple(
            {"key": s.key, "value": s.value, "origin": s.origin} for s in grid.settings()
        ),
        factors=tuple(_factor_rows(plan)),
        metric_info=tuple(_metric_rows(plan)),
        components=tuple(_component_rows(plan, to_examine.values())),
        blocks=tuple({"block": of.block, "viewing": of.key} for of in to_view),
        environment=tuple(
            environment_rows(
                plan.catalog,
                executor=executor,
                workers=execution.workers,
                threads=execution.threads,
                device=where["device"],
            )
        ),
    )


def _cell_row(planned: PlannedCell) -> PlannedCellRow:
    cell = planned.cell
    return PlannedCellRow(
        cell=cell.cell,
        label=cell.label,
        levels=cell.levels,
        content=cell.content,
        skipped=cell.skipped,
    )


def _factor_rows(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "factor": factor.name,
            "level": level.label,
            "position": position,
            "baseline": plan.grid.baseline[factor.name] == level.label,
        }
        for factor in plan.grid.factors
        for position, level in enumerate(factor.levels)
    ]


def _metric_rows(plan: Plan) -> list[dict[str, Any]]:
    start = ", ".join(
        f"{setting.key} {setting.value}"
        for setting in plan.grid.settings()
        if setting.key.startswith("initializer")
        or setting.key in STATED
        or (setting.key in STATED_IF_GIVEN and setting.origin != "default")
    )
    rows = []
    for measure in plan.grid.measures:
        static = measure.spec.mode == "static"
        told = [" or ".join(_conventions(plan, measure.choice.name)), "" if static else start]
        entries: tuple[Metric | Profile, ...] = (*measure.spec.metrics, *measure.spec.profiles)
        rows += [{**_metric_row(measure.choice, e, told), "exact": static} for e in entries]
    return rows


def _conventions(plan: Plan, name: str) -> list[str]:
    """What a measure says of its figures, once for each set of options that a cell has."""
    built = (choice.load()(**choice.options) for choice in plan.choices(name))
    return list(dict.fromkeys(m.convention() for m in built if hasattr(m, "convention")))


def _metric_row(measure: Choice, entry: Metric | Profile, told: list[str]) -> dict[str, Any]:
    metric = isinstance(entry, Metric)
    return {
        "metric": f"{measure.name}.{entry.name}",
        "form": "metric" if metric else "profile",
        "measure": measure.name,
        "unit": entry.unit,
        "better": entry.better if isinstance(entry, Metric) else "neither",
        "scale": entry.scale,
        "primary": isinstance(entry, Metric) and entry.primary,
        "summary": entry.summary,
        "convention": "; ".join(filter(None, [entry.convention, *told])),
        "scales_with": f"{measure.name}.{entry.scales_with}" if entry.scales_with else "",
        "defined_when_diverged": isinstance(entry, Metric) and entry.defined_when_diverged,
        "may_be_infinite": isinstance(entry, Metric) and entry.may_be_infinite,
        "compared": not isinstance(entry, Metric) or entry.compared,
    }


def _component_rows(plan: Plan, examined: Iterable[Examination]) -> list[dict[str, Any]]:
    """The components that any cell uses, with who registered them and how they are examined."""
    used: dict[tuple[str, str], Choice] = {}
    for planned in plan.cells:
        if planned.cell.architecture is not None:
            for choice in components_of(planned.cell.architecture):
                used[choice.target, choice.label] = choice
    named = {(s.reference, plan.catalog.name_of(s)): s for s in plan.catalog.components()}
    keys = {(of.choice.target, repr(of.choice.options)): of.key for of in examined}
    rows = [
        {
            **_component_row(named[target, choice.name], choice),
            "examination": keys.get((target, repr(choice.options)), ""),
        }
        for (target, _), choice in used.items()
    ]
    order = list(Kind)
    return sorted(rows, key=lambda row: (order.index(Kind(row["kind"])), row["name"]))


def _component_row(spec: ComponentSpec, choice: Choice) -> dict[str, str]:
    return {
        "kind": str(spec.kind),
        "name": choice.name,
        "plugin": spec.provenance.distribution,
        "version": spec.provenance.version,
        "options": ", ".join(f"{name}={value}" for name, value in choice.options.items()),
        "summary": spec.summary,
        "source": spec.source,
    }
