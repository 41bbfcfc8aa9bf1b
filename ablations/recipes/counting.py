"""Recipes assembled on the meta device and counted, beside the counts that were published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablations.measures.parameters import Parameters
from ablations.models.resolution import resolve
from ablations.recipes.recipe import Recipe
from ablations.trial import Trial, TrialContext
from registry.catalog import Catalog

ROLES = ("embedding", "head", "attention", "feed_forward", "norm", "other")
"""The shares of a total, in the words of the measure `parameters`."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A recipe and the parameters of its decoder: in `total`, those of a `block`, and by role."""

    recipe: Recipe
    total: int
    block: float
    roles: Mapping[str, int]

    @property
    def differing(self) -> Mapping[str, tuple[float, int]]:
        """What is not as published: assembled and published, by name."""
        published = self.recipe.published
        pairs = {
            "parameters": (self.total, published.parameters),
            "block": (self.block, published.block),
            "embedding": (self.roles["embedding"], published.embedding),
            "head": (self.roles["head"], published.head),
        }
        return {name: (ours, theirs) for name, (ours, theirs) in pairs.items() if ours != theirs}

    @property
    def document(self) -> dict[str, Any]:
        """As `recipes --json` prints it; `equal` holds of every count that was published."""
        return {
            "name": self.recipe.name,
            "assembled": self.total,
            "published": self.recipe.published.parameters,
            "equal": not self.differing,
            "source": self.recipe.source,
        }

    @property
    def text(self) -> str:
        """The totals, the roles below, and a line for each count that differs."""
        recipe = self.recipe
        equal = "as published" if not self.differing else "NOT as published"
        shares = ", ".join(f"{role} {self.roles[role]:,}" for role in ROLES if self.roles[role])
        lines = [
            f"{recipe.name}: {self.total:,} parameters, {equal} ({recipe.source})",
            f"  {shares}; a block {self.block:,.0f}",
        ]
        lines += [
            f"  {name}: assembled {ours:,.0f}, published {theirs:,}, {ours - theirs:+,.0f}"
            for name, (ours, theirs) in self.differing.items()
        ]
        if recipe.published.notes:
            lines.append(f"  {recipe.published.notes}")
        return "\n".join(lines)


def count_recipe(recipe: Recipe, catalog: Catalog) -> Counted:
    """Assemble a recipe without weights, and count. Raises: GridError, Incompatible."""
    architecture = resolve(recipe.model, catalog)
    context = TrialContext(Trial(cell="", seed=0, architecture=architecture, measures=()))
    found = Parameters().measure(context).metrics
    return Counted(
        recipe=recipe,
        total=int(found["total"]),
        block=found["per_block"],
        roles={role: int(found[role]) for role in ROLES},
    )


def summary(counted: Sequence[Counted]) -> str:
    """How many recipes there were, and which differ."""
    differ = [one.recipe.name for one in counted if one.differing]
    head = "1 recipe" if len(counted) == 1 else f"{len(counted)} recipes"
    return f"{head}, not as published: {', '.join(differ)}" if differ else f"{head}, as published"
