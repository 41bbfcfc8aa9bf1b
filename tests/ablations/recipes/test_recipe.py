"""The recipes there are: what their files hold, and how one is found."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from ablations.models.model import Model
from ablations.models.resolution import Resolver
from ablations.recipes.recipe import read_recipe, recipe_names
from registry import UnknownName, discover

NAMES = recipe_names()


def test_there_are_recipes_of_every_family() -> None:
    assert len(NAMES) == 41
    assert list(NAMES) == sorted(NAMES)
    families = {re.split(r"[-\d]", name)[0] for name in NAMES}
    assert families == {
        *("bloom", "cerebras", "command", "falcon", "gemma", "glm", "gpt", "llama", "mistral"),
        *("mpt", "olmo", "openai", "opt", "phi", "pythia", "qwen", "santacoder", "smollm"),
        *("stablelm", "starcoder", "starcoderbase", "tinyllama"),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_file_holds_a_recipe_of_its_name(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.name == name
    assert re.search(r"arXiv:\d{4}\.\d{5}|huggingface\.co/\S+/\S+", recipe.source)
    assert Resolver(discover()).faults(recipe.model) == []
    text = (files("ablations") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_says_nothing_that_goes_without_saying(name: str) -> None:
    """Parts and sizes are always named, all else where it is not the default."""
    model, defaults = read_recipe(name).model, Model().model_dump()
    named = {"norm", "activation", "attention", "position", "placement", "depth", "d_model"}
    named |= {"n_heads", "d_ff", "context", "vocab_size", "bias", "tie_embeddings"}
    assert named <= set(model)
    assert not [key for key in set(model) - named if model[key] == defaults[key]]


def test_a_recipe_that_is_not_there_is_told_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName) as caught:
        read_recipe("gtp2")
    known = ", ".join(NAMES)
    assert str(caught.value) == f"no recipe is named 'gtp2'; did you mean 'gpt2'? known: {known}"
