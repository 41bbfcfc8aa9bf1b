"""A grid file, read whole: every fault at once, each with its line, column and nearest name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from ablations.amounts import read_amount
from ablations.combinations import excess
from ablations.grids.asked_measures import AskedMeasure, check_modes, read_measures
from ablations.grids.baseline import check_said, read_baseline
from ablations.grids.document import Document, Fault, from_mapping
from ablations.grids.exclusions import Exclusion, read_exclusions
from ablations.grids.executing import read_executor
from ablations.grids.factors import Factor, Level, Scope, read_subject
from ablations.grids.level_faults import level_faults
from ablations.grids.levels import Levels
from ablations.grids.parsing import read
from ablations.grids.plugins import with_own_plugins
from ablations.grids.reading import Reading
from ablations.grids.requirements import unmet
from ablations.grids.schema import GridFile
from ablations.grids.settings import Setting, run_settings, settings
from ablations.grids.starting import left_behind
from ablations.models.labels import level_label
from ablations.models.model import COMPONENT_KINDS, Model
from ablations.sources import look_first
from registry.catalog import Catalog
from registry.discovery import discover, with_plugins
from registry.spec import Choice


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A validated grid.

    `model` holds every key as written, as the recipe says, or at its default.
    """

    name: str
    recipe: str | None
    model: Mapping[str, Any]
    factors: tuple[Factor, ...]
    baseline: Mapping[str, str]
    seeds: tuple[int, ...]
    measures: tuple[AskedMeasure, ...]
    design: Literal["full", "one_at_a_time"]
    exclude: tuple[Exclusion, ...]
    requires: tuple[str, ...]
    device: str
    dtype: str
    timeout: float | None
    memory: int | None
    """Bytes that a trial may use; None where the machine decides."""
    threads: int
    executor: Choice | None
    """None where it is left to the command line."""
    catalog: Catalog = field(repr=False, compare=False)
    """What its names were read by: the installed plugins, and those that were asked for."""
    document: Document = field(repr=False, compare=False)
    setting_rows: tuple[Setting, ...] = field(repr=False, compare=False)

    def __repr__(self) -> str:
        from ablations.notebook import grid_line

        return grid_line(self)

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from ablations.notebook import grid_html

        return grid_html(self)

    @property
    def text(self) -> str:
        """The grid's YAML: the file's own, or written out from a mapping."""
        return self.document.text

    @property
    def static(self) -> bool:
        """Whether everything that is measured depends on shapes alone."""
        return all(measure.spec.mode == "static" for measure in self.measures)

    def settings(self) -> tuple[Setting, ...]:
        """Every value, given or default, as a person reads it, and where it comes from."""
        return self.setting_rows


def load_grid(
    source: str | os.PathLike[str] | Mapping[str, Any],
    catalog: Catalog | None = None,
    *,
    plugins: Sequence[str] = (),
) -> Grid:
    """Read and validate a grid, from a file or from a mapping of the same form.

    Its names are looked up among the built-ins, the installed plugins (or what `catalog` holds),
    the grid's own `plugins` and those given here: modules, .py files or packages' folders, paths
    relative to the current directory.

    Raises: GridError with every finding; of syntax errors in YAML the first. PluginError for
    `plugins`; StaleSource for one whose files were edited since this process imported them.
    """
    document = from_mapping(source) if isinstance(source, Mapping) else read(source)
    catalog = discover() if catalog is None else catalog
    catalog = with_own_plugins(document, with_plugins(catalog, plugins))
    look_first(catalog)
    reading = Reading(document, catalog)
    grid = _read(reading)
    too_much = excess(grid)
    if too_much:
        raise document.error([Fault(("factors",), too_much, True)])
    faults = level_faults(grid, reading.resolver)
    if faults:
        raise document.error(faults)
    return grid


def _read(reading: Reading) -> Grid:
    """The grid, each of whose parts is sound; what they make together is not looked at.

    Raises: GridError.
    """
    measures = read_measures(reading)
    for key in COMPONENT_KINDS:
        if key in reading.model:
            check = partial(reading.check_component, key, reading.model[key])
            reading.faults.attempt(reading.start.path(key), check)
    reading.faults.found += left_behind(reading.start, reading.levels)
    levels = Levels(reading)
    for name in reading.levels:
        subject = read_subject(reading, measures, name)
        if subject is not None:
            levels.add(subject)
    check_said(reading, measures, levels)
    check_modes(reading, measures, levels.subjects)
    _check_seeds(reading)
    _check_requirements(reading)
    baseline = read_baseline(reading, measures, levels)
    exclusions = read_exclusions(reading, levels, baseline)
    executor = read_executor(reading)
    if reading.faults.found:
        raise reading.document.error(reading.faults.found)
    file = GridFile.model_validate(reading.document.data)
    model = Model.model_validate(reading.model).model_dump()
    factors = tuple(
        Factor(
            name=name,
            levels=tuple(Level(label=level_label(name, v), value=v) for v in reading.levels[name]),
            scope=subject.scope,
        )
        for name, subject in levels.subjects.items()
    )
    varied: dict[str, dict[str, list[Any]]] = {scope: {} for scope in get_args(Scope)}
    for factor in factors:
        varied[factor.scope][factor.name] = reading.levels[factor.name]
    asked = tuple(
        AskedMeasure(spec=measure.spec, choice=measure.choice)
        for measure in measures.values()
        if measure.choice is not None
    )
    seeds = tuple(range(file.seeds) if isinstance(file.seeds, int) else file.seeds)
    asked_for = [record.name for record in reading.catalog.plugins if record.asked]
    sizes = file.scale_to.model_dump() if file.scale_to is not None else {}
    recipe = reading.start.recipe
    start = {f"scale_to.{key}": value for key, value in sizes.items() if value is not None}
    run = {
        "plugins": asked_for,
        "seeds": list(seeds),
        "placebo": file.placebo,
        "design": file.design,
        "dtype": file.dtype,
        "device": file.device,
        "threads": file.threads,
        "timeout": file.timeout,
        "memory": file.memory,
        "executor": file.executor,
    }
    rows = (
        Setting("recipe", file.recipe or "null", "given" if file.recipe else "default"),
        *([Setting("recipe.source", recipe.source, "recipe")] if recipe is not None else []),
        *run_settings([], start, given=start),
        *settings(
            model,
            reading.catalog,
            given=reading.given_keys(),
            factors=varied["model"],
            origins=reading.start.origins,
        ),
        *run_settings(
            [measure.choice for measure in asked],
            run,
            given={*reading.data, *(["plugins"] if asked_for else [])},
            factors=varied["measure"],
        ),
    )
    return Grid(
        name=file.name,
        recipe=file.recipe,
        model=model,
        factors=factors,
        baseline=baseline,
        seeds=seeds,
        measures=asked,
        design=file.design,
        exclude=tuple(exclusions),
        requires=tuple(file.requires),
        device=file.device,
        dtype=file.dtype,
        timeout=file.timeout,
        memory=None if file.memory is None else read_amount(file.memory),
        threads=file.threads,
        executor=executor,
        catalog=reading.catalog,
        document=reading.document,
        setting_rows=rows,
    )


def _check_seeds(reading: Reading) -> None:
    seeds = reading.data.get("seeds")
    if isinstance(seeds, list):
        for i, seed in enumerate(seeds):
            if seed in seeds[:i]:
                reading.faults.add(("seeds", i), f"seed {seed} is given twice")


def _check_requirements(reading: Reading) -> None:
    for i, text in enumerate(reading.data.get("requires", [])):
        reason = unmet(text, reading.catalog)
        if reason:
            reading.faults.add(("requires", i), reason)
