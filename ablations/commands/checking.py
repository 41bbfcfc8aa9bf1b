"""What is held against what it must be: components their contracts, recipes published models."""

from __future__ import annotations

from typing import Annotated

import typer

from ablations.answers import Answer, answers, as_json_text
from ablations.commands.arguments import JsonOption, PluginOption, installed


@answers
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Components; all of them without names."),
    ] = None,
    as_json: JsonOption = False,
    plugin: PluginOption = None,
) -> Answer:
    """Hold components to the contracts of their kinds: shapes, causality, gradients and more.

    Prints how many checks ran and what is not as it must be; exit status 1 if anything is not.

    Example: python -m ablations check rmsnorm mha
    """
    catalog = installed(plugin)
    from ablations.checking import check, chosen, summary
    from ablations.machine import usable_cores

    checked = check(chosen(catalog, names or ()), workers=usable_cores())
    status = 0 if all(one.passed for one in checked) else 1
    if as_json:
        return Answer(as_json_text([one.document for one in checked]), status)
    return Answer("\n".join([*(one.text for one in checked), summary(checked)]), status)


@answers
def recipes(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Recipes; all of them without names."),
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """Assemble published models without weights and compare their parameter counts.

    A grid starts from one with `recipe: NAME`. Exit status 1 if a count is not as published.

    Example: python -m ablations recipes llama-3-8b gpt2
    """
    from ablations.recipes.recipe import read_recipe, recipe_names

    asked = [read_recipe(name) for name in dict.fromkeys(names or recipe_names())]
    catalog = installed(None)
    from ablations.recipes.counting import count_recipe, summary

    counted = [count_recipe(recipe, catalog) for recipe in asked]
    status = 1 if any(one.differing for one in counted) else 0
    if as_json:
        return Answer(as_json_text([one.document for one in counted]), status)
    return Answer("\n".join([*(one.text for one in counted), summary(counted)]), status)
