"""A grid's factors to its cells: combinations, each with what it is, or why it is skipped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Any

from ablations.architecture import Architecture
from ablations.combinations import count, label, places
from ablations.grids.document import Fault
from ablations.grids.placebo import LEVELS, PLACEBO, level_path
from ablations.made import Made
from ablations.models.canonical import canonical_json
from ablations.models.model import PER_BLOCK
from ablations.models.resolution import Resolver
from ablations.recall import Recall, choices_of, situation, watched_architecture, watched_dims
from ablations.varied import VariedKey, VariedMeasure, written
from registry.catalog import Catalog
from registry.contracts import Dims
from registry.errors import Incompatible
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.grids.factors import Factor, Level


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One level chosen for every factor, `places` telling which.

    `architecture` is None where the model's values do not go together. What is only read of few
    cells of a large grid, as its name and its content, is worked out when it is asked for.
    """

    factors: tuple[Factor, ...]
    places: tuple[int, ...]
    architecture: Architecture | None
    measures: tuple[Choice, ...]
    skipped: str | None
    stream: str = ""
    """The stream of a trial's seed that all is drawn from; the seed itself where empty."""
    describe: Callable[[tuple[int, ...]], Mapping[str, Any]]

    @property
    def levels(self) -> dict[str, str]:
        """The label of each factor's level."""
        chosen = zip(self.factors, self.places, strict=True)
        return {factor.name: factor.levels[place].label for factor, place in chosen}

    @property
    def label(self) -> str:
        """The levels, as a person reads them."""
        return label(self.factors, self.places)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The model in canonical form, the measure options in which it differs from what the grid
        asks for, and `stream` where there is one."""
        content = dict(self.describe(self.places))
        if self.stream:  # without one it is the cell of a grid without placebo
            content["stream"] = self.stream
        return content

    @cached_property
    def cell(self) -> str:
        """A hash of `content`: it depends neither on the order of keys or factors nor on which keys
        are factors, so that it survives edits of the grid."""
        return hashlib.sha256(canonical_json(self.content).encode()).hexdigest()[:16]


def cells(grid: Grid, catalog: Catalog) -> Made[Cell]:
    """Every cell of the grid, made as it is asked for, in the order of `combinations`.

    Raises: GridError when two cells are the same.
    """
    maker = _Maker(grid, catalog)
    made = Made(maker.cell, range(count(grid)))
    if grid.design != "full" or maker.repeats:
        seen: dict[str, str] = {}
        for cell in made:
            if cell.cell in seen:
                words = f"two cells are the same: {seen[cell.cell]} and {cell.label}"
                raise grid.document.error([Fault(("factors",), words, True)])
            seen[cell.cell] = cell.label
    return made


def check_levels(grid: Grid, cells: Iterable[Cell]) -> None:
    """Refuse a grid in which a level is skipped throughout: it could not be compared.

    So is one whose baseline is skipped where every comparison is with it, one at a time.

    Raises: GridError with every such level and the reasons.
    """
    reasons: dict[tuple[int, int], set[str]] = {
        (of, place): set() for of, f in enumerate(grid.factors) for place in range(len(f.levels))
    }
    alive: set[tuple[int, int]] = set()
    for cell in cells:
        if cell.skipped is None:
            alive.update(enumerate(cell.places))
            continue
        for pair in enumerate(cell.places):
            reasons[pair].add(cell.skipped)
        if grid.design == "one_at_a_time" and cell.levels == grid.baseline:
            words = "the baseline, with which every other cell is compared, is skipped: "
            raise grid.document.error([Fault(("design",), words + cell.skipped)])
    if not alive:
        words = f"every cell is skipped: {'; '.join(sorted(set().union(*reasons.values())))}"
        raise grid.document.error([Fault(("factors",), words, True)])
    faults = [
        Fault(
            level_path(factor.name, place),
            f"every cell with {factor.name}={level.label} is skipped: "
            + "; ".join(sorted(reasons[of, place])),
        )
        for of, factor in enumerate(grid.factors)
        for place, level in enumerate(factor.levels)
        if (of, place) not in alive
    ]
    if faults:
        raise grid.document.error(faults)


def assemble(grid: Grid, levels: Mapping[str, Level]) -> dict[str, Any]:
    """The model of a cell as written: factors over `model`, options over the whole."""
    varied = {name: levels[name].value for name in (f.name for f in grid.factors) if name in levels}
    return {
        key: written(grid, key, {n: v for n, v in varied.items() if n.partition(".")[0] == key})
        for key in grid.model
    }


class _Maker:
    """Makes the cells of one grid: each level is read once, whatever it stands beside."""

    def __init__(self, grid: Grid, catalog: Catalog) -> None:
        self.grid = grid
        self.resolver = Resolver(catalog)
        varied = [f.name.partition(".")[0] for f in grid.factors if f.scope == "model"]
        self._keys = [VariedKey(grid, key, self.resolver) for key in dict.fromkeys(varied)]
        self._names = [key.key for key in self._keys]
        self._last: tuple[list[Any], tuple[Architecture | None, str | None]] | None = None
        self._values = {
            key: self.resolver.value(key, value)
            for key, value in grid.model.items()
            if key not in varied
        }
        self._meant = {key: value.meant for key, value in self._values.items()}
        self._measures = [
            VariedMeasure(grid, asked, self.resolver.chooser, catalog) for asked in grid.measures
        ]
        names = [factor.name for factor in grid.factors]
        self._placebo = names.index(PLACEBO) if PLACEBO in names else None
        self._exclusions = [
            (
                [
                    (names.index(name), {i for i, at in enumerate(f.levels) if at.label == label})
                    for name, label in exclusion.when.items()
                    for f in [grid.factors[names.index(name)]]
                ],
                exclusion.because,
            )
            for exclusion in grid.exclude
        ]
        self._refusals: dict[int, tuple[Any, Recall[str]]] = {}
        self._silent: set[int] = set()
        """Choices, by `id`, that have nothing to say of sizes and models."""

    @property
    def repeats(self) -> bool:
        """Whether two cells of a full design may be the same: what factors make of a key or of an
        option is, at two combinations of their levels."""
        keys = any(varied.repeats for varied in self._keys)
        return keys or any(measure.repeats for measure in self._measures)

    def cell(self, number: int) -> Cell:
        """The cell of that number."""
        chosen = places(self.grid, number)
        architecture, unfit = self._architecture(chosen)
        stream = ""
        if self._placebo is not None:
            stream = LEVELS[self.grid.factors[self._placebo].levels[chosen[self._placebo]].label]
        return Cell(
            factors=self.grid.factors,
            places=chosen,
            architecture=architecture,
            measures=tuple([measure.choice(chosen) for measure in self._measures]),
            skipped=self._excluded(chosen) or unfit,
            stream=stream,
            describe=self._content,
        )

    def _architecture(self, chosen: tuple[int, ...]) -> tuple[Architecture | None, str | None]:
        """The model of the cell of these places, and why it cannot be, if so.

        It is that of the cell before where the two differ in how they are measured alone.
        """
        values = [varied.value(chosen).meant for varied in self._keys]
        if self._last is not None and all(map(is_, values, self._last[0])):
            return self._last[1]
        meant = self._meant | dict(zip(self._names, values, strict=True))
        found: tuple[Architecture | None, str | None]
        try:
            architecture = self.resolver.described(meant)
            found = architecture, self._unsupported(architecture)
        except Incompatible as reason:
            found = None, str(reason)
        self._last = values, found
        return found

    def _content(self, places: tuple[int, ...]) -> dict[str, Any]:
        model = {key: value.plain for key, value in self._values.items()}
        model |= {varied.key: varied.value(places).plain for varied in self._keys}
        changed = {measure.name: measure.changed(places) for measure in self._measures}
        return {"model": model, "measures": {name: own for name, own in changed.items() if own}}

    def _excluded(self, chosen: tuple[int, ...]) -> str | None:
        for levels, because in self._exclusions:
            if all(chosen[of] in wanted for of, wanted in levels):
                return because
        return None

    def _unsupported(self, architecture: Architecture) -> str | None:
        """What a component says of dimensions or neighbours that it cannot serve."""
        outside = [("initializer", architecture.initializer)]
        if architecture.embedding_norm is not None:
            outside.append(("norm", architecture.embedding_norm))
        for kind, choice in outside:
            reason = self._refusal(kind, choice, architecture, 0)
            if reason:
                return reason
        layers = architecture.layers
        blocks = {id(block): block for block in layers}.values()
        parts = {id(choice): choice for block in blocks for choice in choices_of(block)}
        if parts.keys() <= self._silent:
            return None
        self._silent |= {number for number, choice in parts.items() if not self._asks(choice)}
        for layer, block in enumerate(layers):
            for kind in PER_BLOCK:
                reason = self._refusal(kind, getattr(block, kind), architecture, layer)
                if reason:
                    return reason
        return None

    def _asks(self, choice: Choice) -> bool:
        """Whether a component has something to say of the sizes and the model."""
        if id(choice) not in self._refusals:
            ask = getattr(choice.load(), "unsupported", None)
            self._refusals[id(choice)] = ask, Recall()
        return self._refusals[id(choice)][0] is not None

    def _refusal(self, kind: str, choice: Choice, architecture: Architecture, layer: int) -> str:
        if not self._asks(choice):
            return ""
        ask, recall = self._refusals[id(choice)]
        own = situation(architecture, layer)
        found = recall.find(own)
        if found is None:
            read: set[str] = set()
            found = _asked(
                ask,
                watched_dims(own.dims, read),
                watched_architecture(architecture, read),
                f"{kind} {choice.name!r}",
            )
            recall.keep(read, own, found)
        return found


def _asked(ask: Any, dims: Dims, architecture: Architecture, who: str) -> str:
    """What a component says against being built so; nothing where it has nothing to say."""
    try:
        reason = ask(dims, architecture)
    except Incompatible as incompatible:
        reason = str(incompatible)
    except Exception:
        # A broken component is not a skipped one: its trials fail, each with its message.
        return ""
    return f"{who}: {reason}" if reason else ""
