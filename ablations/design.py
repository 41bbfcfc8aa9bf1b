"""A grid's factors to its cells: combinations, each with what it is, or why it is skipped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ablations.architecture import Architecture
from ablations.combinations import combinations
from ablations.grids.document import Fault
from ablations.grids.placebo import LEVELS, PLACEBO, level_path
from ablations.models.canonical import canonical_json, plain
from ablations.models.model import PER_BLOCK
from ablations.models.resolution import Resolver
from ablations.models.written import with_part
from registry.catalog import Catalog
from registry.contracts import Dims
from registry.errors import Incompatible
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.factors import Level


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One level chosen for every factor.

    `cell` is a hash of `content`: the model in canonical form, the measure options in which it
    differs from what the grid asks for, and `stream` where there is one. It depends neither on the
    order of keys or factors nor on which keys are factors, so that it survives edits of the grid.
    `architecture` is None where the model's values do not go together.
    """

    cell: str
    label: str
    levels: Mapping[str, str]
    content: Mapping[str, Any]
    architecture: Architecture | None
    measures: tuple[Choice, ...]
    skipped: str | None
    stream: str = ""
    """The stream of a trial's seed that all is drawn from; the seed itself where empty."""


def cells(grid: Grid, catalog: Catalog) -> Iterator[Cell]:
    """Every cell of the grid, made as it is asked for, in the order of `combinations`.

    Raises: GridError when two cells are the same.
    """
    maker = _Maker(grid, catalog)
    seen: dict[int, str] = {}
    for levels in combinations(grid):
        cell = maker.cell(levels)
        number = int(cell.cell, 16)
        if number in seen:
            words = f"two cells are the same: {seen[number]} and {cell.label}"
            raise grid.document.error([Fault(("factors",), words, True)])
        seen[number] = cell.label
        yield cell


def check_levels(grid: Grid, cells: Iterable[Cell]) -> None:
    """Refuse a grid in which a level is skipped throughout: it could not be compared.

    So is one whose baseline is skipped where every comparison is with it, one at a time.

    Raises: GridError with every such level and the reasons.
    """
    reasons: dict[tuple[str, str], set[str]] = {
        (factor.name, level.label): set() for factor in grid.factors for level in factor.levels
    }
    alive: set[tuple[str, str]] = set()
    for cell in cells:
        for pair in cell.levels.items():
            if cell.skipped is None:
                alive.add(pair)
            else:
                reasons[pair].add(cell.skipped)
        if grid.design == "one_at_a_time" and cell.skipped and cell.levels == grid.baseline:
            words = "the baseline, with which every other cell is compared, is skipped: "
            raise grid.document.error([Fault(("design",), words + cell.skipped)])
    if not alive:
        words = f"every cell is skipped: {'; '.join(sorted(set().union(*reasons.values())))}"
        raise grid.document.error([Fault(("factors",), words, True)])
    faults = [
        Fault(
            level_path(factor.name, i),
            f"every cell with {factor.name}={level.label} is skipped: "
            + "; ".join(sorted(reasons[factor.name, level.label])),
        )
        for factor in grid.factors
        for i, level in enumerate(factor.levels)
        if (factor.name, level.label) not in alive
    ]
    if faults:
        raise grid.document.error(faults)


def assemble(grid: Grid, levels: Mapping[str, Level]) -> dict[str, Any]:
    """The model of a cell as written: factors over `model`, options over the whole."""
    model = dict(grid.model)
    chosen = [(f.name, levels[f.name].value) for f in grid.factors if f.scope == "model"]
    for name, value in chosen:
        if "." not in name:
            model[name] = value
    for name, value in chosen:
        key, dot, part = name.partition(".")
        if dot:
            model[key] = with_part(key, model[key], part, value)
    return model


class _Maker:
    """Makes the cells of one grid."""

    def __init__(self, grid: Grid, catalog: Catalog) -> None:
        self.grid = grid
        self.resolver = Resolver(catalog)
        self._required = {
            asked.spec.name: {o.name for o in catalog.options(asked.spec) if o.required}
            - asked.choice.given
            for asked in grid.measures
        }
        """Options of measures that only a factor gives."""
        self._refusals: dict[str, Callable[[Dims, Architecture], str | None] | None] = {}

    def cell(self, levels: Mapping[str, Level]) -> Cell:
        """The cell of these levels."""
        model = assemble(self.grid, levels)
        labels = {name: level.label for name, level in levels.items()}
        architecture: Architecture | None = None
        skipped = self._excluded(labels)
        try:
            architecture = self.resolver.architecture(model)
            skipped = skipped or self._unsupported(architecture)
        except Incompatible as reason:
            skipped = skipped or str(reason)
        measures, changed = self._measures(levels)
        content: dict[str, Any] = {"model": self.resolver.canonical(model), "measures": changed}
        stream = LEVELS[labels[PLACEBO]] if PLACEBO in labels else ""
        if stream:  # without one it is the cell of a grid without placebo
            content["stream"] = stream
        return Cell(
            cell=hashlib.sha256(canonical_json(content).encode()).hexdigest()[:16],
            label=" ".join(f"{name}={label}" for name, label in labels.items()),
            levels=labels,
            content=content,
            architecture=architecture,
            measures=measures,
            skipped=skipped,
            stream=stream,
        )

    def _excluded(self, labels: Mapping[str, str]) -> str | None:
        for exclusion in self.grid.exclude:
            if exclusion.when.items() <= labels.items():
                return exclusion.because
        return None

    def _measures(
        self, levels: Mapping[str, Level]
    ) -> tuple[tuple[Choice, ...], dict[str, dict[str, Any]]]:
        """Each measure with the options of this cell, and those that the grid does not ask for."""
        varied: dict[str, dict[str, Any]] = {}
        for factor in self.grid.factors:
            if factor.scope == "measure":
                key, _, part = factor.name.partition(".")
                varied.setdefault(key, {})[part] = levels[factor.name].value
        choices = []
        changed: dict[str, dict[str, Any]] = {}
        for asked in self.grid.measures:
            choice = asked.choice
            if asked.spec.name in varied:
                given = {name: choice.options[name] for name in choice.given}
                parts = varied[asked.spec.name]
                choice = self.resolver.chooser.measure(asked.spec, {**given, **parts})
                own = {
                    part: plain(choice.options[part])
                    for part in parts
                    if part in self._required[asked.spec.name]
                    or canonical_json(plain(choice.options[part]))
                    != canonical_json(plain(asked.choice.options[part]))
                }
                if own:
                    changed[asked.spec.name] = own
            choices.append(choice)
        return tuple(choices), changed

    def _unsupported(self, architecture: Architecture) -> str | None:
        """What a component says of dimensions or neighbours that it cannot serve."""
        outside = [("initializer", architecture.initializer)]
        if architecture.embedding_norm is not None:
            outside.append(("norm", architecture.embedding_norm))
        for kind, choice in outside:
            reason = self._refusal(kind, choice, architecture, 0)
            if reason:
                return reason
        for layer, block in enumerate(architecture.layers):
            for kind in PER_BLOCK:
                reason = self._refusal(kind, getattr(block, kind), architecture, layer)
                if reason:
                    return reason
        return None

    def _refusal(
        self, kind: str, choice: Choice, architecture: Architecture, layer: int
    ) -> str | None:
        if choice.target not in self._refusals:
            self._refusals[choice.target] = getattr(choice.load(), "unsupported", None)
        ask = self._refusals[choice.target]
        if ask is None:
            return None
        try:
            reason = ask(architecture.dims(layer), architecture)
        except Incompatible as incompatible:
            reason = str(incompatible)
        except Exception:
            # A broken component is not a skipped one: its trials fail, each with its message.
            return None
        return f"{kind} {choice.name!r}: {reason}" if reason else None
