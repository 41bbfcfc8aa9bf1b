"""GPT-NeoX, Phi, GPT-J and Falcon: attention and feed-forward side by side, or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.oracle import (
    CONTEXT,
    DEPTH,
    Oracle,
    Source,
    assert_equal,
    head_by_head,
    made,
)
from tests.oracles.rotary import (
    ATTENTION,
    EMBEDDING,
    HEAD,
    LAYER,
    QKV_BIAS,
    grouped,
    rope,
    rotating,
)

PHI: dict[str, Source] = {
    **EMBEDDING,
    **HEAD,
    "head.bias": "lm_head.bias",
    **ATTENTION,
    **QKV_BIAS,
    "blocks.{i}.attention.out.weight": f"{LAYER}.self_attn.dense.weight",
    "blocks.{i}.attention.out.bias": f"{LAYER}.self_attn.dense.bias",
    "blocks.{i}.attention_norm.weight": f"{LAYER}.input_layernorm.weight",
    "blocks.{i}.attention_norm.bias": f"{LAYER}.input_layernorm.bias",
    "blocks.{i}.feed_forward.up.weight": f"{LAYER}.mlp.fc1.weight",
    "blocks.{i}.feed_forward.up.bias": f"{LAYER}.mlp.fc1.bias",
    "blocks.{i}.feed_forward.down.weight": f"{LAYER}.mlp.fc2.weight",
    "blocks.{i}.feed_forward.down.bias": f"{LAYER}.mlp.fc2.bias",
    "final_norm.weight": "model.final_layernorm.weight",
    "final_norm.bias": "model.final_layernorm.bias",
}
GPT_J: dict[str, Source] = {
    "token_embedding.weight": "transformer.wte.weight",
    "head.weight": "lm_head.weight",
    "head.bias": "lm_head.bias",
    "blocks.{i}.attention_norm.weight": "transformer.h.{i}.ln_1.weight",
    "blocks.{i}.attention_norm.bias": "transformer.h.{i}.ln_1.bias",
    "blocks.{i}.attention.qkv.weight": (
        "transformer.h.{i}.attn.q_proj.weight",
        "transformer.h.{i}.attn.k_proj.weight",
        "transformer.h.{i}.attn.v_proj.weight",
    ),
    "blocks.{i}.attention.out.weight": "transformer.h.{i}.attn.out_proj.weight",
    "blocks.{i}.feed_forward.up.weight": "transformer.h.{i}.mlp.fc_in.weight",
    "blocks.{i}.feed_forward.up.bias": "transformer.h.{i}.mlp.fc_in.bias",
    "blocks.{i}.feed_forward.down.weight": "transformer.h.{i}.mlp.fc_out.weight",
    "blocks.{i}.feed_forward.down.bias": "transformer.h.{i}.mlp.fc_out.bias",
    "final_norm.weight": "transformer.ln_f.weight",
    "final_norm.bias": "transformer.ln_f.bias",
}
NEOX_LAYER = "gpt_neox.layers.{i}"
NEOX: dict[str, Source] = {
    "token_embedding.weight": "gpt_neox.embed_in.weight",
    "head.weight": "lm_head.weight",
    "blocks.{i}.attention_norm.weight": f"{NEOX_LAYER}.input_layernorm.weight",
    "blocks.{i}.attention_norm.bias": f"{NEOX_LAYER}.input_layernorm.bias",
    "blocks.{i}.attention.qkv.weight": head_by_head(
        f"{NEOX_LAYER}.attention.query_key_value.weight", 4
    ),
    "blocks.{i}.attention.qkv.bias": head_by_head(
        f"{NEOX_LAYER}.attention.query_key_value.bias", 4
    ),
    "blocks.{i}.attention.out.weight": f"{NEOX_LAYER}.attention.dense.weight",
    "blocks.{i}.attention.out.bias": f"{NEOX_LAYER}.attention.dense.bias",
    "blocks.{i}.feed_forward_norm.weight": f"{NEOX_LAYER}.post_attention_layernorm.weight",
    "blocks.{i}.feed_forward_norm.bias": f"{NEOX_LAYER}.post_attention_layernorm.bias",
    "blocks.{i}.feed_forward.up.weight": f"{NEOX_LAYER}.mlp.dense_h_to_4h.weight",
    "blocks.{i}.feed_forward.up.bias": f"{NEOX_LAYER}.mlp.dense_h_to_4h.bias",
    "blocks.{i}.feed_forward.down.weight": f"{NEOX_LAYER}.mlp.dense_4h_to_h.weight",
    "blocks.{i}.feed_forward.down.bias": f"{NEOX_LAYER}.mlp.dense_4h_to_h.bias",
    "final_norm.weight": "gpt_neox.final_layer_norm.weight",
    "final_norm.bias": "gpt_neox.final_layer_norm.bias",
}
FALCON_LAYER = "transformer.h.{i}"
FALCON: dict[str, Source] = {
    "token_embedding.weight": "transformer.word_embeddings.weight",
    "blocks.{i}.attention_norm.weight": f"{FALCON_LAYER}.input_layernorm.weight",
    "blocks.{i}.attention_norm.bias": f"{FALCON_LAYER}.input_layernorm.bias",
    "blocks.{i}.attention.qkv.weight": f"{FALCON_LAYER}.self_attention.query_key_value.weight",
    "blocks.{i}.attention.out.weight": f"{FALCON_LAYER}.self_attention.dense.weight",
    "blocks.{i}.feed_forward.up.weight": f"{FALCON_LAYER}.mlp.dense_h_to_4h.weight",
    "blocks.{i}.feed_forward.down.weight": f"{FALCON_LAYER}.mlp.dense_4h_to_h.weight",
    "final_norm.weight": "transformer.ln_f.weight",
    "final_norm.bias": "transformer.ln_f.bias",
}
FALCON_RW: dict[str, Source] = {
    **FALCON,
    "blocks.{i}.attention.qkv.weight": head_by_head(
        f"{FALCON_LAYER}.self_attention.query_key_value.weight", 4
    ),
    "blocks.{i}.attention.qkv.bias": head_by_head(
        f"{FALCON_LAYER}.self_attention.query_key_value.bias", 4
    ),
    "blocks.{i}.attention.out.bias": f"{FALCON_LAYER}.self_attention.dense.bias",
    "blocks.{i}.feed_forward_norm.weight": f"{FALCON_LAYER}.post_attention_layernorm.weight",
    "blocks.{i}.feed_forward_norm.bias": f"{FALCON_LAYER}.post_attention_layernorm.bias",
    "blocks.{i}.feed_forward.up.bias": f"{FALCON_LAYER}.mlp.dense_h_to_4h.bias",
    "blocks.{i}.feed_forward.down.bias": f"{FALCON_LAYER}.mlp.dense_4h_to_h.bias",
}
FALCON_GROUPED: dict[str, Source] = {
    **FALCON,  # groups of two query heads, each with its key and its value head
    "blocks.{i}.attention.qkv.weight": head_by_head(
        f"{FALCON_LAYER}.self_attention.query_key_value.weight", 2, (2, 1, 1)
    ),
    "blocks.{i}.attention_norm.weight": f"{FALCON_LAYER}.ln_attn.weight",
    "blocks.{i}.attention_norm.bias": f"{FALCON_LAYER}.ln_attn.bias",
    "blocks.{i}.feed_forward_norm.weight": f"{FALCON_LAYER}.ln_mlp.weight",
    "blocks.{i}.feed_forward_norm.bias": f"{FALCON_LAYER}.ln_mlp.bias",
}


def neox(*, parallel: bool) -> Oracle:
    values = {"use_parallel_residual": parallel, "fraction": 0.25}
    return Oracle(
        name=f"GPT-NeoX, {'parallel' if parallel else 'pre'}",
        theirs=lambda: rotating("GPTNeoX", **values),
        model={
            "position": rope(fraction=0.25),
            "placement": {"parallel": {"norms": 2}} if parallel else "pre",
            "d_ff": 96,
        },
        weights=NEOX,
    )


def phi() -> Oracle:
    return Oracle(
        name="Phi",
        theirs=lambda: rotating("Phi", fraction=0.5, num_key_value_heads=2),
        model={
            "activation": "gelu_tanh",
            "attention": grouped(2),
            "position": rope(fraction=0.5),
            "placement": "parallel",
            "bias": {"head": True},
            "d_ff": 96,
        },
        weights=PHI,
    )


def gpt_j() -> Oracle:
    return Oracle(
        name="GPT-J",
        theirs=lambda: made(
            "GPTJ",
            n_embd=64,
            n_layer=DEPTH,
            n_head=4,
            n_positions=CONTEXT,
            n_inner=96,
            rotary_dim=8,
        ),
        model={
            "activation": "gelu_tanh",
            "position": {"rope": {"fraction": 0.5, "style": "pairs"}},
            "placement": "parallel",
            "bias": {"qkv": False, "out": False, "feed_forward": True, "head": True},
            "d_ff": 96,
        },
        weights=GPT_J,
    )


def falcon(name: str, model: dict[str, Any], weights: dict[str, Source], **values: Any) -> Oracle:
    values = {"ffn_hidden_size": 96, **values}
    return Oracle(
        name=f"Falcon, {name}",
        theirs=lambda: rotating("Falcon", **values),
        model={"d_ff": 96, "tie_embeddings": True, **model},
        weights=weights,
    )


ORACLES = [
    neox(parallel=True),
    neox(parallel=False),
    phi(),
    gpt_j(),
    falcon(
        "7B",
        {"attention": "mqa", "position": rope(), "placement": "parallel", "bias": False},
        FALCON,
    ),
    falcon(
        "RW, ALiBi",
        {"position": {"alibi": {"scaled": True}}},
        FALCON_RW,
        attn_implementation="sdpa",  # "eager" adds the bias to the scores, and with the mask again
        alibi=True,
        multi_query=False,
        parallel_attn=False,
        bias=True,
    ),
    falcon(
        "RW, rotary",
        {"position": rope()},
        FALCON_RW,
        multi_query=False,
        parallel_attn=False,
        bias=True,
    ),
    falcon(
        "40B",
        {
            "attention": grouped(2),
            "position": rope(),
            "placement": {"parallel": {"norms": 2}},
            "bias": False,
        },
        FALCON_GROUPED,
        new_decoder_architecture=True,
        num_kv_heads=2,
    ),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)
