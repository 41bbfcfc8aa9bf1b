"""Recipes at other sizes: which ratios are kept, and what cannot be kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ablations.architecture import Architecture
from ablations.decoder import skeleton
from ablations.grids.faults import Faulty
from ablations.models.resolution import resolve
from ablations.recipes.recipe import read_recipe, recipe_names
from ablations.recipes.scaling import ScaleTo, scaled
from registry import discover


def at(name: str, given: dict[str, Any] | None = None, **sizes: int) -> dict[str, Any]:
    """The values of a recipe's model that other sizes change."""
    model = read_recipe(name).model
    result = scaled(model, ScaleTo(**sizes), given or {})
    return {key: value for key, value in result.model.items() if value != model.get(key)}


def fault(name: str, given: dict[str, Any] | None = None, **sizes: int) -> tuple[str, str]:
    with pytest.raises(Faulty) as caught:
        scaled(read_recipe(name).model, ScaleTo(**sizes), given or {})
    (found,) = caught.value.faults
    return ".".join(map(str, found.path)), found.message


def test_llama_at_a_sixteenth_of_its_width() -> None:
    assert at("llama-3-8b", d_model=256, depth=12) == {
        "d_model": 256,
        "depth": 12,
        "n_heads": 8,  # of 32 features: with 64 there would be one key/value head alone
        "attention": {"gqa": {"n_kv_heads": 2}},
        "d_ff": 896,
    }


@pytest.mark.parametrize(
    ("name", "d_model", "expected"),
    [
        ("gpt2", 256, {"n_heads": 4, "d_ff": 1024}),
        ("gpt2", 3072, {"n_heads": 48, "d_ff": 12288}),
        ("gpt-j-6b", 256, {"n_heads": 2, "d_ff": 1024}),
        ("llama-7b", 256, {"n_heads": 2, "d_ff": 688}),
        ("gemma-2b", 256, {"d_ff": 2048}),  # eight heads as before, an eighth as wide
        ("opt-350m", 256, {"n_heads": 4, "d_ff": 1024, "embedding_dim": 128}),
        (
            "qwen3-0.6b",
            256,
            {
                "n_heads": 4,
                "d_ff": 768,
                "attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head"}},
            },
        ),
        (
            "gemma-2-2b",
            288,
            {
                "n_heads": 4,
                "head_dim": 64,
                "d_ff": 1152,
                "attention": {
                    "layers": [
                        {"gqa": {"n_kv_heads": 2, "softcap": 50, "window": 4096}},
                        {"gqa": {"n_kv_heads": 2, "softcap": 50}},
                    ]
                },
            },
        ),
        ("falcon-7b", 1136, {"d_ff": 4544}),  # 71 heads of 16
    ],
)
def test_ratios_to_the_width(name: str, d_model: int, expected: dict[str, Any]) -> None:
    assert at(name, d_model=d_model) == {"d_model": d_model, **expected}


def ratios(architecture: Architecture) -> list[Fraction]:
    """Heads together and feed-forward over the model, key/value over query heads, by layer."""
    return [
        ratio
        for layer in range(2)
        for dims in [architecture.dims(layer)]
        for ratio in (
            Fraction(dims.n_heads * dims.head_dim, dims.d_model),
            Fraction(dims.d_ff, dims.d_model),
            Fraction(dims.n_kv_heads, dims.n_heads),
        )
    ]


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_keeps_its_ratios_at_half_its_width(name: str) -> None:
    model = read_recipe(name).model
    small = scaled(model, ScaleTo(d_model=model["d_model"] // 2, depth=2, context=64), {}).model
    published, halved = (resolve(one, discover()) for one in ({**model, "depth": 2}, small))
    assert ratios(halved) == ratios(published)
    assert halved.n_heads >= 2
    assert skeleton(halved).blocks[0] is not None  # its parts fit each other


def test_a_width_that_comes_out_broken_is_rounded_up() -> None:
    assert at("llama-7b", d_model=264)["d_ff"] == 712  # from 709.5
    assert at("llama-7b", d_model=272)["d_ff"] == 731  # a whole number, as it is


def test_windows_keep_their_share_of_the_context() -> None:
    assert at("mistral-7b-v0.1", context=64) == {
        "context": 64,
        "attention": {"gqa": {"n_kv_heads": 8, "window": 8}},
    }
    layers = at("gemma-2-2b", context=100)["attention"]["layers"]
    assert [layer["gqa"].get("window") for layer in layers] == [50, None]
    assert at("phi-3-mini-4k", context=3)["attention"] == {"mha": {"window": 2}}
    with pytest.raises(Faulty, match="a token would see itself alone"):
        at("phi-3-mini-4k", context=2)


def test_a_depth_that_cuts_layers_in_turn_off_is_refused() -> None:
    assert at("gemma-2-2b", depth=4)["depth"] == 4
    with pytest.raises(Faulty, match="3 is no multiple of 2, the layers in which attention takes"):
        at("gemma-2-2b", depth=3)
    assert at("gemma-2-2b", {"attention": "mha"}, depth=3)["depth"] == 3


def test_what_is_given_is_left_alone_and_the_rest_follows_it() -> None:
    assert at("llama-3-8b", {"n_heads": 16, "d_ff": 5}, d_model=256) == {
        "d_model": 256,
        "attention": {"gqa": {"n_kv_heads": 4}},
    }
    given = {"attention": "mha", "head_dim": 16}
    assert at("llama-3-8b", given, d_model=256) == {"d_model": 256, "n_heads": 16, "d_ff": 896}


def test_what_was_worked_out_is_told() -> None:
    model = read_recipe("llama-3-8b").model
    assert scaled(model, ScaleTo(d_model=256, depth=12), {}).computed == {
        "n_heads",
        "d_ff",
        "attention",
        "attention.n_kv_heads",
    }
    assert scaled(model, ScaleTo(depth=12), {}).computed == set()
    assert scaled(model, ScaleTo(d_model=256), {"attention": "mha", "d_ff": 8}).computed == {
        "n_heads"
    }


@pytest.mark.parametrize(
    ("name", "given", "sizes", "path", "message"),
    [
        (
            "falcon-7b",
            {},
            {"d_model": 256},
            "scale_to.d_model",
            "256 cannot hold the recipe's heads, 71 to each key/value head: expected a multiple of "
            "568; or give n_heads and attention in model",
        ),
        (
            "gemma-2-2b",
            {},
            {"d_model": 256},
            "scale_to.d_model",
            "256 cannot hold the recipe's heads, 2 to each key/value head: expected a multiple of "
            "18, at least 36; or give n_heads and attention in model",
        ),
        (
            "gpt2",
            {},
            {"d_model": 8},
            "scale_to.d_model",
            "8 cannot hold the recipe's heads: expected a multiple of 8, at least 16; or give "
            "n_heads in model",
        ),
        (
            "llama-3-8b",
            {"n_heads": 6},
            {"d_model": 256},
            "model.n_heads",
            "6 breaks the recipe's ratios: the heads are together 256 wide at d_model 256, 4 to "
            "each key/value head",
        ),
        (
            "gpt2",
            {"head_dim": 60},
            {"d_model": 256},
            "model.head_dim",
            "60 breaks the recipe's ratios: the heads are together 256 wide at d_model 256",
        ),
    ],
)
def test_heads_that_cannot_be_are_refused(
    name: str, given: dict[str, Any], sizes: dict[str, int], path: str, message: str
) -> None:
    assert fault(name, given, **sizes) == (path, message)
