"""A recipe: a published model in the words of a grid's `model`, with its source and its counts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field

from ablations.grids.expected import Strict
from ablations.grids.parsing import parse
from registry.errors import UnknownName, nearest

SUFFIX = ".yaml"


class Published(Strict):
    """Counts of unique parameters: all, a block's, token and position embeddings, an untied head.

    `notes` says what is special about the model, and which other total is told of it and why.
    """

    parameters: int = Field(gt=0)
    block: int = Field(gt=0)
    embedding: int = Field(gt=0)
    head: int = Field(ge=0)
    notes: str = ""


class Recipe(Strict):
    """A published model; `model` is what a grid's key of that name may hold."""

    name: str
    source: str
    published: Published
    model: dict[str, Any]


def recipe_names() -> tuple[str, ...]:
    """The recipes there are, sorted."""
    entries = (files("ablations") / "recipes").iterdir()
    return tuple(
        sorted(e.name.removesuffix(SUFFIX) for e in entries if e.name.endswith(SUFFIX)),
    )


@cache
def read_recipe(name: str) -> Recipe:
    """The recipe of that name. Raises: UnknownName."""
    known = recipe_names()
    if name not in known:
        raise UnknownName(f"no recipe is named {name!r}; {nearest(name, known)}")
    text = (files("ablations") / "recipes" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return Recipe.model_validate(parse(text, f"{name}{SUFFIX}").data)
