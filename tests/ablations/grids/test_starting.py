"""Grids that start from a recipe: what their model is, what is told of it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ablations.design import cells
from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from ablations.grids.settings import Setting
from ablations.recipes.recipe import read_recipe, recipe_names
from registry import discover

HEAD = "name: x\nmeasures: [gradient_flow]\n"
SMALL = "recipe: llama-3-8b\nscale_to: {d_model: 256, depth: 12, context: 64}\n"
NORM = "factors: {norm: [rmsnorm, layernorm]}\n"


def load(tmp_path: Path, text: str) -> Grid:
    path = tmp_path / "grid.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return load_grid(path)


def refused(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(GridError) as caught:
        load(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/grid.yaml:", "").splitlines()


def test_a_recipe_is_the_model_that_factors_vary(tmp_path: Path) -> None:
    grid = load(tmp_path, f"recipe: gpt2\n{NORM}")
    assert grid.recipe == "gpt2"
    assert {key: grid.model[key] for key in read_recipe("gpt2").model} == read_recipe("gpt2").model
    assert grid.model["head_dim"] is None
    assert grid.baseline == {"norm": "layernorm"}  # which GPT-2 has, though it is not the first


def test_what_is_given_stands_over_the_recipe(tmp_path: Path) -> None:
    text = "model: {vocab_size: 256, position: alibi, bias: {head: true}, n_heads: 16}\n"
    model = load(tmp_path, SMALL + text + NORM).model
    assert (model["depth"], model["d_model"], model["context"]) == (12, 256, 64)
    assert (model["n_heads"], model["attention"]) == (16, {"gqa": {"n_kv_heads": 4}})
    assert (model["vocab_size"], model["position"]) == (256, "alibi")
    assert model["bias"] == {"qkv": False, "out": False, "feed_forward": False, "head": True}
    assert load(tmp_path, SMALL + "model: {bias: true}\n" + NORM).model["bias"] is True


def test_what_if_llama_3_had_layernorm(tmp_path: Path) -> None:
    text = "design: one_at_a_time\nfactors: {norm: [rmsnorm, layernorm], placement: [post, pre]}\n"
    grid = load(tmp_path, SMALL + text)
    made = list(cells(grid, grid.catalog))
    assert [cell.label for cell in made] == [
        "norm=rmsnorm placement=pre",
        "norm=layernorm placement=pre",
        "norm=rmsnorm placement=post",
    ]
    assert all(cell.architecture is not None and cell.skipped is None for cell in made)


def test_every_value_is_told_with_where_it_comes_from(tmp_path: Path) -> None:
    text = "model: {vocab_size: 256, bias: {head: true}, norm: {layernorm: {eps: 1e-6}}}\n"
    grid = load(tmp_path, f"{SMALL}{text}factors: {{placement: [pre, post]}}\n")
    rows = grid.settings()
    assert rows[:5] == (
        Setting("recipe", "llama-3-8b", "given"),
        Setting("recipe.source", read_recipe("llama-3-8b").source, "recipe"),
        Setting("scale_to.d_model", "256", "given"),
        Setting("scale_to.depth", "12", "given"),
        Setting("scale_to.context", "64", "given"),
    )
    told = {row.key: (row.value, row.origin) for row in rows}
    assert told["d_model"] == ("256", "given")
    assert told["n_heads"] == ("8", "scaled")
    assert told["d_ff"] == ("896", "scaled")
    assert told["head_dim"] == ("d_model / n_heads", "default")
    assert told["attention"] == ("gqa(n_kv_heads=2)", "scaled")
    assert told["attention.n_kv_heads"] == ("2", "scaled")
    assert told["attention.window"] == ("null", "default")
    assert told["position"] == ("rope(theta=500000)", "recipe")
    assert told["position.theta"] == ("500000.0", "recipe")
    assert told["position.style"] == ("halves", "default")
    assert told["vocab_size"] == ("256", "given")
    assert told["norm"] == ("layernorm(eps=1e-06)", "given")
    assert told["norm.eps"] == ("1e-06", "given")
    assert (told["bias.head"], told["bias.qkv"]) == (("true", "given"), ("false", "recipe"))
    assert told["placement"] == ("pre | post", "factor")
    assert told["tie_embeddings"] == ("false", "recipe")
    assert told["residual"] == ("add", "default")


def test_levels_of_a_varied_component_are_not_the_recipes(tmp_path: Path) -> None:
    text = f"{SMALL}factors: {{attention: [{{gqa: {{n_kv_heads: 2}}}}, mha]}}\n"
    told = {row.key: row.origin for row in load(tmp_path, text).settings()}
    assert told["attention"] == "factor"
    assert told["attention=gqa(n_kv_heads=2).n_kv_heads"] == "given"


def test_without_a_recipe_there_is_none(tmp_path: Path) -> None:
    grid = load(tmp_path, NORM)
    assert grid.recipe is None
    assert grid.settings()[0] == Setting("recipe", "null", "default")


@pytest.mark.parametrize(
    ("factors", "baseline"),
    [
        ("attention.n_kv_heads: [1, 2, 8]", "2"),
        ("norm.eps: [1e-6, 1e-5]", "1e-05"),
        ("bias.qkv: [true, false]", "false"),
        ("bias: [true, false]", "false"),
        ("embedding_norm: [layernorm, null]", "null"),
        ("initializer.std: [0.1, 0.02]", "0.02"),
        ("d_ff: [1024, 896]", "896"),
        ("activation: [gelu, swiglu]", "swiglu"),
        ("gradient_flow.batch: [4, 2]", "4"),
    ],
)
def test_the_baseline_is_the_recipe(tmp_path: Path, factors: str, baseline: str) -> None:
    grid = load(tmp_path, f"{SMALL}factors: {{{factors}}}\n")
    assert list(grid.baseline.values()) == [baseline]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "recipe: lama-3-8b\n",
            "3:9: recipe: no recipe is named 'lama-3-8b'; did you mean 'llama-3-8b'? known: "
            + ", ".join(recipe_names()),
        ),
        (
            "scale_to: {depth: 2}\n",
            "3:1: scale_to: has no effect without a recipe",
        ),
        (
            "recipe: gpt2\nscale_to: {}\n",
            "4:11: scale_to: names no size: give d_model, depth or context",
        ),
        (
            "recipe: gpt2\nscale_to: {depth: 2}\nmodel: {depth: 3}\n",
            "5:9: model.depth: has no effect: scale_to sets it",
        ),
        (
            "recipe: falcon-7b\nscale_to: {depth: 2, d_model: 256}\n",
            "4:31: scale_to.d_model: 256 cannot hold the recipe's heads, 71 to each key/value "
            "head: expected a multiple of 568; or give n_heads and attention in model",
        ),
        (
            "recipe: llama-3-8b\nscale_to: {d_model: 256}\nmodel: {n_heads: 6}\n",
            "5:18: model.n_heads: 6 breaks the recipe's ratios: the heads are together 256 wide at "
            "d_model 256, 4 to each key/value head",
        ),
        (
            "recipe: gpt2\nmodel: {scale_to: {depth: 2}}\n",
            "4:9: model.scale_to: is a key of the grid: write it beside model, not in it",
        ),
        ("recipe: 3\n", "3:9: recipe: expected the name of a recipe, not 3"),
        (
            "recipe: gpt2\nscale_to: {depth: 0}\n",
            "4:19: scale_to.depth: expected an integer from 1 to 4096 or null, not 0",
        ),
        (
            "recipe: llama-7b\n",
            "4:11: factors.norm: recipe llama-7b has rmsnorm(eps=1e-06), which is no level here: "
            "add it, or name in baseline what to compare with; known: layernorm, rmsnorm",
        ),
        (
            "recipe: gpt2\nmodel: {n_heads: 5}\n",
            "4:18: model.n_heads: d_model 768 is not divisible by n_heads 5; give head_dim, or "
            "heads that divide",
        ),
        (
            "recipe: gemma-2-2b\nmodel: {depth: 1}\nbaseline: {norm: rmsnorm}\n",
            "3:9: recipe: attention names 2 layers, more than the depth of 1",
        ),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert refused(tmp_path, text + NORM) == [expected]


def test_a_baseline_other_than_the_recipe_is_named(tmp_path: Path) -> None:
    grid = load(tmp_path, f"recipe: llama-7b\nbaseline: {{norm: rmsnorm}}\n{NORM}")
    assert grid.baseline == {"norm": "rmsnorm"}


def test_a_mapping_may_start_from_a_recipe() -> None:
    mapping: dict[str, Any] = {
        "name": "x",
        "recipe": "smollm2-135m",
        "scale_to": {"depth": 2},
        "factors": {"norm": ["layernorm", "rmsnorm"]},
        "measures": ["parameters"],
    }
    grid = load_grid(mapping, discover())
    assert (grid.model["depth"], grid.model["d_model"]) == (2, 576)
    assert load_grid(grid.document.data).settings() == grid.settings()


def test_a_width_as_a_factor_is_refused_where_the_recipes_others_would_not_follow(
    tmp_path: Path,
) -> None:
    width = "factors: {d_model: [256, 512]}\n"
    assert refused(tmp_path, SMALL + width) == [
        "5:11: factors.d_model: d_ff of recipe llama-3-8b would not follow it: give it in model "
        "(null follows), or run a grid a width"
    ]
    assert load(tmp_path, SMALL + "model: {d_ff: null}\n" + width).recipe == "llama-3-8b"


def test_a_recipe_whose_layers_differ_is_no_level_of_an_option(tmp_path: Path) -> None:
    text = "recipe: gemma-2-2b\nfactors: {attention.window: [4096, 2048]}\n"
    (told,) = refused(tmp_path, text)
    assert "recipe gemma-2-2b has 4096 and null in turn, layer by layer, which is no level" in told
    assert load(tmp_path, text + "baseline: {attention.window: 4096}\n").baseline
