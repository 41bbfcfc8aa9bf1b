"""A grid's factors to its cells: every combination, each with what it is, or why it is skipped."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ablations.architecture import Architecture, BlockChoices
from ablations.document import DataPath, Fault
from ablations.resolution import (
    Conflict,
    Resolver,
    canonical_json,
    plain,
    same_block,
    same_choice,
    with_part,
)
from ablations.schema import PER_BLOCK
from registry.catalog import Catalog
from registry.contracts import Dims
from registry.errors import Incompatible
from registry.options import signature_of
from registry.spec import Choice

if TYPE_CHECKING:
    from ablations.grid import Factor, Grid, Level

MAX_CELLS = 10_000_000
_EXAMINED = 2_048
"""Models looked at before a factor is believed to have an effect."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One level chosen for every factor.

    `cell` is a hash of `content`: the model in canonical form, and the measure options in which it
    differs from what the grid asks for. It depends neither on the order of keys or factors nor on
    which keys are factors, so that it survives edits of the grid. `architecture` is None where the
    model's values do not go together.
    """

    cell: str
    label: str
    levels: Mapping[str, str]
    content: Mapping[str, Any]
    architecture: Architecture | None
    measures: tuple[Choice, ...]
    skipped: str | None


def count(grid: Grid) -> int:
    """The number of cells, skipped ones among them."""
    return math.prod(len(factor.levels) for factor in grid.factors)


def cells(grid: Grid, catalog: Catalog) -> Iterator[Cell]:
    """Every cell of the grid, made as it is asked for; the first factor varies slowest.

    Raises: GridError when two cells are the same.
    """
    maker = _Maker(grid, catalog)
    seen: dict[int, str] = {}
    for chosen in itertools.product(*(factor.levels for factor in grid.factors)):
        cell = maker.cell(dict(zip((f.name for f in grid.factors), chosen, strict=True)))
        number = int(cell.cell, 16)
        if number in seen:
            words = f"two cells are the same: {seen[number]} and {cell.label}"
            raise grid.document.error([Fault(("factors",), words, True)])
        seen[number] = cell.label
        yield cell


def check_levels(grid: Grid, cells: Iterable[Cell]) -> None:
    """Refuse a grid in which a level is skipped throughout: it could not be compared.

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
    if not alive:
        words = f"every cell is skipped: {'; '.join(sorted(set().union(*reasons.values())))}"
        raise grid.document.error([Fault(("factors",), words, True)])
    faults = [
        Fault(
            ("factors", factor.name, i),
            f"every cell with {factor.name}={level.label} is skipped: "
            + "; ".join(sorted(reasons[factor.name, level.label])),
        )
        for factor in grid.factors
        for i, level in enumerate(factor.levels)
        if (factor.name, level.label) not in alive
    ]
    if faults:
        raise grid.document.error(faults)


def level_faults(grid: Grid, resolver: Resolver) -> list[Fault]:
    """Levels that no model can have, and factors that change no model.

    What cannot be settled by looking at a bounded number of models is let pass.
    """
    factors = [factor for factor in grid.factors if factor.scope == "model"]
    made: dict[tuple[str, ...], Architecture | Conflict] = {}

    def build(levels: Mapping[str, Level]) -> Architecture | Conflict:
        key = tuple(levels[factor.name].label for factor in factors)
        if key not in made:
            try:
                made[key] = resolver.architecture(assemble(grid, levels))
            except Conflict as conflict:
                made[key] = conflict
        return made[key]

    if not factors:
        conflict = build({})
        return [_impossible(grid, conflict)] if isinstance(conflict, Conflict) else []
    faults = []
    for factor in factors:
        others = [other for other in factors if other is not factor]
        contexts = math.prod(len(other.levels) for other in others)
        bound = max(1, _EXAMINED // len(factor.levels))
        possible: set[str] = set()
        conflicts: dict[str, Conflict] = {}
        has_effect = len(factor.levels) == 1
        orders = [_baseline_first(grid, other) for other in others]
        for context in itertools.islice(itertools.product(*orders), bound):
            chosen = dict(zip((other.name for other in others), context, strict=True))
            built: list[Architecture] = []
            for level in factor.levels:
                result = build({**chosen, factor.name: level})
                if isinstance(result, Conflict):
                    conflicts[level.label] = result
                else:
                    possible.add(level.label)
                    built.append(result)
            differs = any(not same_model(built[0], other) for other in built[1:])
            has_effect = has_effect or differs or 0 < len(built) < len(factor.levels)
            if has_effect and len(possible) == len(factor.levels):
                break
        if contexts > bound:
            continue
        if not possible:
            return [_impossible(grid, next(iter(conflicts.values())))]
        faults += [
            Fault(
                ("factors", factor.name, i),
                f"no cell with {factor.name}={level.label} is possible: {conflicts[level.label]}",
            )
            for i, level in enumerate(factor.levels)
            if level.label not in possible
        ]
        if not has_effect:
            kind = factor.name.partition(".")[0]
            reason = (
                f"no other component of the grid uses its {kind}"
                if kind in PER_BLOCK
                else "all its levels describe the same model"
            )
            faults.append(Fault(("factors", factor.name), f"has no effect: {reason}", True))
    return faults


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


def same_model(one: Architecture, other: Architecture) -> bool:
    """Whether two architectures describe the same decoder, in whatever words.

    A component that no other one asks for is no difference.
    """
    return (
        all(
            getattr(one, name) == getattr(other, name)
            for name in (field.name for field in fields(Architecture))
            if name not in ("layers", "initializer", "embedding_norm", "d_ff_rule")
        )
        and same_choice(one.initializer, other.initializer)
        and same_choice(one.embedding_norm, other.embedding_norm)
        and one.depth == other.depth
        and all(map(_same_in_use, one.layers, other.layers))
    )


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
        content = {"model": self.resolver.canonical(model), "measures": changed}
        return Cell(
            cell=hashlib.sha256(canonical_json(content).encode()).hexdigest()[:16],
            label=" ".join(f"{name}={label}" for name, label in labels.items()),
            levels=labels,
            content=content,
            architecture=architecture,
            measures=measures,
            skipped=skipped,
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
                choice = self.resolver.measure(asked.spec, {**given, **parts})
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


def _impossible(grid: Grid, conflict: Conflict) -> Fault:
    given = conflict.key in grid.document.data.get("model", {})
    varied = any(factor.name == conflict.key for factor in grid.factors)
    path: DataPath = ("factors" if varied and not given else "model", conflict.key)
    return Fault(path, str(conflict))


def _baseline_first(grid: Grid, factor: Factor) -> Sequence[Level]:
    label = grid.baseline[factor.name]
    return sorted(factor.levels, key=lambda level: level.label != label)


def _same_in_use(one: BlockChoices, other: BlockChoices) -> bool:
    return same_block(one, other) or (
        one.d_ff == other.d_ff
        and (used := _used(one)) == _used(other)
        and all(same_choice(getattr(one, kind), getattr(other, kind)) for kind in used)
    )


def _used(block: BlockChoices) -> frozenset[str]:
    """The kinds that are built: the placement's, what those ask for, and what the decoder adds."""
    used: set[str] = set()
    waiting = ["placement", "position", "norm"]
    while waiting:
        kind = waiting.pop()
        if kind not in used and kind in PER_BLOCK:
            used.add(kind)
            choice: Choice = getattr(block, kind)
            waiting += signature_of(choice.load(), takes_dims=True).makers
    return frozenset(used)
