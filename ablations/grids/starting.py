"""What a grid's model starts from: a recipe, at another size where asked, and what is given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ablations.grids.document import DataPath, Fault
from ablations.grids.faults import Faulty
from ablations.models.model import PARTS, Model
from ablations.recipes.recipe import Recipe, read_recipe
from ablations.recipes.scaling import ScaleTo, scaled
from registry.errors import UnknownName

Origin = Literal["given", "default", "factor", "recipe", "scaled"]


@dataclass(frozen=True, kw_only=True)
class Start:
    """A model as written: what is given over what a recipe says; `origins` tells of the latter.

    Keys and options that followed from `scale_to` are `scaled`, all others of the recipe `recipe`.
    """

    model: Mapping[str, Any]
    given: Mapping[str, Any]
    recipe: Recipe | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def path(self, key: str) -> DataPath:
        """Where a grid says what a key of its model is."""
        return ("recipe",) if key in self.model and key not in self.given else ("model", key)


def start_of(data: Mapping[str, Any]) -> Start:
    """What the keys `recipe`, `scale_to` and `model` of a grid make; each fits the schema.

    Raises: Faulty, paths those of the grid.
    """
    given = data.get("model", {})
    name, sizes = data.get("recipe"), data.get("scale_to")
    if name is None:
        if sizes is not None:
            raise Faulty([Fault(("scale_to",), "has no effect without a recipe", True)])
        return Start(model=given, given=given)
    try:
        recipe = read_recipe(name)
    except UnknownName as error:
        raise Faulty([Fault(("recipe",), str(error))]) from None
    to = ScaleTo.model_validate(sizes or {})
    asked = {key for key, value in to.model_dump().items() if value is not None}
    if sizes is not None and not asked:
        raise Faulty([Fault(("scale_to",), "names no size: give d_model, depth or context")])
    twice = sorted(asked & set(given))
    if twice:
        words = "has no effect: scale_to sets it"
        raise Faulty(Fault(("model", key), words, True) for key in twice)
    result = scaled(recipe.model, to, given)
    model = {**result.model, **{key: _over(key, given[key], recipe) for key in given}}
    origins: dict[str, Origin] = {}
    for key in set(result.model) - set(given):
        origins[key] = "scaled" if key in result.computed else "given" if key in asked else "recipe"
    for option in result.computed - set(result.model):
        origins[option] = "scaled"
    for key, parts in PARTS.items():
        if key in recipe.model and isinstance(given.get(key, {}), dict):
            origins |= {f"{key}.{part}": "recipe" for part in parts}
    return Start(model=model, given=given, recipe=recipe, origins=origins)


WIDTHS = ("d_ff", "head_dim", "embedding_dim")
"""Keys in proportion to d_model."""


def left_behind(start: Start, factors: Collection[str]) -> list[Fault]:
    """A factor d_model over a recipe of which other widths are numbers, and would not follow."""
    if start.recipe is None or "d_model" not in factors:
        return []
    fixed = [
        key
        for key in WIDTHS
        if start.model.get(key) is not None and key not in start.given and key not in factors
    ]
    if not fixed:
        return []
    words = (
        f"{' and '.join(fixed)} of recipe {start.recipe.name} would not follow it: give "
        f"{'it' if len(fixed) == 1 else 'them'} in model (null follows), or run a grid a width"
    )
    return [Fault(("factors", "d_model"), words, True)]


def _over(key: str, value: Any, recipe: Recipe) -> Any:
    """A value given, over the recipe's: of biases and dropout rates the parts that it names."""
    if key in PARTS and key in recipe.model and isinstance(value, dict):
        return {**Model.model_validate({key: recipe.model[key]}).whole()[key], **value}
    return value
