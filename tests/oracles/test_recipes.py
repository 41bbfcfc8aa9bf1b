"""Each recipe is made of the parts that were found equal to its class, whatever its numbers are.

Counts cannot tell one activation from another, nor halves from pairs; these comparisons can.
"""

from __future__ import annotations

from typing import Any

import pytest

from ablations.models.resolution import Resolver
from ablations.recipes.recipe import read_recipe, recipe_names
from registry import discover
from tests.oracles import (
    test_alibi_models,
    test_gpt_models,
    test_layernorm_models,
    test_parallel_models,
    test_rmsnorm_models,
)
from tests.oracles.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    oracle.name: oracle
    for module in (
        test_alibi_models,
        test_gpt_models,
        test_layernorm_models,
        test_parallel_models,
        test_rmsnorm_models,
    )
    for oracle in module.ORACLES
}
LLAMA = "Llama, 2 kv, attention_bias=False, mlp_bias=False"
TIED_LLAMA = "Llama, heads wider than the model"
CLASSES = {
    "bloom-560m": "BLOOM, 4 heads",
    "cerebras-gpt-111m": "GPT-2, gelu",
    "command-r-v01": "Cohere",
    "falcon-7b": "Falcon, 7B",
    "falcon-rw-1b": "Falcon, RW, ALiBi",
    "gemma-2-2b": "Gemma 2",
    "gemma-2b": "Gemma",
    "gemma-7b": "Gemma",
    "glm-4-9b-chat-hf": "GLM",
    "gpt-j-6b": "GPT-J",
    "gpt2": "GPT-2, gelu_new",
    "gpt2-large": "GPT-2, gelu_new",
    "gpt2-medium": "GPT-2, gelu_new",
    "gpt2-xl": "GPT-2, gelu_new",
    "llama-2-70b": LLAMA,
    "llama-2-7b": LLAMA,
    "llama-3-70b": LLAMA,
    "llama-3-8b": LLAMA,
    "llama-3.2-1b": "Llama 3.2",
    "llama-7b": LLAMA,
    "mistral-7b-v0.1": "Mistral, longer than its window",
    "mpt-7b": "MPT, 4 heads",
    "olmo-1b": "OLMo",
    "olmo-2-0425-1b": "OLMo-2",
    "openai-gpt": "GPT-1",
    "opt-125m": "OPT, pre, relu, bias=True, width=64",
    "opt-350m": "OPT, post, relu, bias=True, width=24",
    "phi-2": "Phi",
    "phi-3-mini-4k": "Phi-3",
    "pythia-1.4b": "GPT-NeoX, parallel",
    "pythia-160m": "GPT-NeoX, parallel",
    "pythia-410m": "GPT-NeoX, parallel",
    "qwen2-0.5b": "Qwen2",
    "qwen3-0.6b": "Qwen3",
    "santacoder": "GPT-BigCode, multi-query",
    "smollm2-135m": TIED_LLAMA,
    "smollm2-360m": TIED_LLAMA,
    "stablelm-2-1.6b": "StableLM, pre, bias=True",
    "starcoder2-3b": "StarCoder2, 2 kv, bias=True, window=4",
    "starcoderbase-1b": "GPT-BigCode, multi-query",
    "tinyllama-1.1b": LLAMA,
}
SIZES = {"depth", "d_model", "n_heads", "head_dim", "d_ff", "context", "vocab_size"}
"""What counts have told already."""


def parts(model: Any) -> Any:
    """A model in canonical form without its sizes, every number but whether there is one left out.

    One key/value head, some, or as many as query heads are three numbers of the same attention.
    """
    canonical = Resolver(discover()).canonical(model)
    kept = {key: value for key, value in canonical.items() if key not in {*SIZES, "initializer"}}
    return _without_numbers({**kept, "attention": _grouped(kept["attention"])})


def _grouped(attention: Any) -> Any:
    if "layers" in attention:
        return {"layers": [_grouped(layer) for layer in attention["layers"]]}
    ((_, options),) = attention.items()
    return {"gqa": {"n_kv_heads": 1, **options}}


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_numbers(item) for item in value]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "a number" if is_number else value


def test_every_recipe_has_a_class() -> None:
    assert sorted(CLASSES) == list(recipe_names())


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_has_the_parts_of_its_class(name: str) -> None:
    assert parts(read_recipe(name).model) == parts(ORACLES[CLASSES[name]].model)
