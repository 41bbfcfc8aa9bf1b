"""StarCoder2, StableLM, Cohere and OLMo: LayerNorm in what is else built as Llama is."""

from __future__ import annotations

import pytest

from tests.oracles.oracle import (
    Oracle,
    Source,
    assert_equal,
)
from tests.oracles.rotary import (
    ATTENTION,
    EMBEDDING,
    FINAL_NORM,
    GATED,
    HEAD,
    LAYER,
    OUT_BIAS,
    PRE_NORMS,
    QKV_BIAS,
    grouped,
    norm_biases,
    rope,
    rotating,
)

UNGATED: dict[str, Source] = {
    "blocks.{i}.feed_forward.up.weight": f"{LAYER}.mlp.c_fc.weight",
    "blocks.{i}.feed_forward.down.weight": f"{LAYER}.mlp.c_proj.weight",
}
UNGATED_BIAS: dict[str, Source] = {
    "blocks.{i}.feed_forward.up.bias": f"{LAYER}.mlp.c_fc.bias",
    "blocks.{i}.feed_forward.down.bias": f"{LAYER}.mlp.c_proj.bias",
}
NORMS = {**PRE_NORMS, **FINAL_NORM}
SHARED_NORM: dict[str, Source] = {
    "blocks.{i}.attention_norm.weight": f"{LAYER}.input_layernorm.weight",
    **FINAL_NORM,
}


def starcoder2(kv_heads: int, *, bias: bool = True, window: int | None = None) -> Oracle:
    values = {"num_key_value_heads": kv_heads, "use_bias": bias, "sliding_window": window}
    biases = {**QKV_BIAS, **OUT_BIAS, **UNGATED_BIAS} if bias else {}
    return Oracle(
        name=f"StarCoder2, {kv_heads} kv, bias={bias}, window={window}",
        theirs=lambda: rotating("Starcoder2", **values),
        model={
            "activation": "gelu_tanh",
            "attention": grouped(kv_heads, window=window),
            "position": rope(),
            "bias": bias,
            "d_ff": 96,
            "tie_embeddings": True,
        },
        weights={**EMBEDDING, **ATTENTION, **UNGATED, **biases, **NORMS, **norm_biases(NORMS)},
    )


def stablelm(*, parallel: bool, bias: bool) -> Oracle:
    values = {
        "num_key_value_heads": 2,
        "use_parallel_residual": parallel,
        "use_qkv_bias": bias,
        "fraction": 0.25,
    }
    norms = SHARED_NORM if parallel else NORMS
    return Oracle(
        name=f"StableLM, {'parallel' if parallel else 'pre'}, bias={bias}",
        theirs=lambda: rotating("StableLm", **values),
        model={
            "activation": "swiglu",
            "attention": grouped(2),
            "position": rope(fraction=0.25),
            "placement": "parallel" if parallel else "pre",
            "bias": {"qkv": bias, "out": False, "feed_forward": False},
            "d_ff": 96,
        },
        weights={
            **EMBEDDING,
            **HEAD,
            **ATTENTION,
            **(QKV_BIAS if bias else {}),
            **GATED,
            **norms,
            **norm_biases(norms),
        },
    )


def cohere() -> Oracle:
    values = {"num_key_value_heads": 2, "logit_scale": 0.25, "layer_norm_eps": 1e-3}
    return Oracle(
        name="Cohere",
        theirs=lambda: rotating("Cohere", **values),
        model={
            "norm": {"layernorm": {"bias": False, "eps": 1e-3}},
            "activation": "swiglu",
            "attention": grouped(2),
            "position": rope(style="pairs"),
            "placement": "parallel",
            "bias": False,
            "d_ff": 96,
            "tie_embeddings": True,
            "logit_scale": 0.25,
        },
        weights={**EMBEDDING, **ATTENTION, **GATED, **SHARED_NORM},
    )


def olmo() -> Oracle:
    return Oracle(
        name="OLMo",
        theirs=lambda: rotating("Olmo", num_key_value_heads=2, tie_word_embeddings=True),
        model={
            "norm": {"layernorm": {"weight": False, "bias": False}},
            "activation": "swiglu",
            "attention": grouped(2),
            "position": rope(),
            "bias": False,
            "d_ff": 96,
            "tie_embeddings": True,
        },
        weights={**EMBEDDING, **ATTENTION, **GATED},
    )


ORACLES = [
    *(starcoder2(kv_heads) for kv_heads in (1, 2, 4)),
    starcoder2(2, bias=False),
    starcoder2(2, window=4),
    *(stablelm(parallel=parallel, bias=bias) for parallel, bias in ((False, True), (True, False))),
    cohere(),
    olmo(),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)
