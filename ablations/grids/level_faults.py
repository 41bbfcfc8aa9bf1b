"""Levels that no model can have, and factors that change no model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ablations.architecture import Architecture
from ablations.combinations import baseline_first
from ablations.design import assemble
from ablations.grids.document import DataPath, Fault
from ablations.grids.factors import Factor, Level
from ablations.grids.faults import Conflict
from ablations.models.model import PER_BLOCK
from ablations.models.resolution import Resolver
from ablations.models.sameness import same_model

if TYPE_CHECKING:
    from ablations.grid import Grid

_EXAMINED = 2_048
"""Models looked at before a factor is believed to have an effect."""


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
        orders = [_beside(grid, other) for other in others]
        contexts = math.prod(map(len, orders))
        bound = max(1, _EXAMINED // len(factor.levels))
        possible: set[str] = set()
        conflicts: dict[str, Conflict] = {}
        has_effect = len(factor.levels) == 1
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


def _impossible(grid: Grid, conflict: Conflict) -> Fault:
    given = conflict.key in grid.document.data.get("model", {})
    varied = any(factor.name == conflict.key for factor in grid.factors)
    path: DataPath = ("factors" if varied and not given else "model", conflict.key)
    if grid.recipe is not None and not given and not varied:
        path = ("recipe",)
    return Fault(path, str(conflict))


def _beside(grid: Grid, factor: Factor) -> Sequence[Level]:
    """The levels of a factor that stand beside all levels of another."""
    levels = baseline_first(grid, factor)
    return levels if grid.design == "full" else levels[:1]
