"""Llama and those that it begot: RMSNorm, rotations, mostly a gated feed-forward."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.oracles.oracle import DEPTH, Oracle, Source, assert_equal, half
from tests.oracles.rotary import (
    ATTENTION,
    EMBEDDING,
    FINAL_NORM,
    GATED,
    GATED_BIAS,
    HEAD,
    LAYER,
    OUT_BIAS,
    PRE_NORMS,
    QK_NORM,
    QKV_BIAS,
    rotating,
)

NORMS = {**PRE_NORMS, **FINAL_NORM}
LLAMA = {**EMBEDDING, **HEAD, **ATTENTION, **GATED, **NORMS}
TIED = {name: source for name, source in LLAMA.items() if name not in HEAD}
FUSED: dict[str, Source] = {
    "blocks.{i}.feed_forward.gate.weight": half(f"{LAYER}.mlp.gate_up_proj.weight", 0),
    "blocks.{i}.feed_forward.up.weight": half(f"{LAYER}.mlp.gate_up_proj.weight", 1),
}
"""A gate and an up projection, one below the other."""

ARCEE: dict[str, Source] = {
    **{name: source for name, source in LLAMA.items() if ".gate." not in name},
    **QKV_BIAS,
    **OUT_BIAS,
    "blocks.{i}.feed_forward.up.bias": f"{LAYER}.mlp.up_proj.bias",
    "blocks.{i}.feed_forward.down.bias": f"{LAYER}.mlp.down_proj.bias",
}
GEMMA_2: dict[str, Source] = {
    **TIED,
    "blocks.{i}.attention_output_norm.weight": f"{LAYER}.post_attention_layernorm.weight",
    "blocks.{i}.feed_forward_norm.weight": f"{LAYER}.pre_feedforward_layernorm.weight",
    "blocks.{i}.feed_forward_output_norm.weight": f"{LAYER}.post_feedforward_layernorm.weight",
}
GLM_4: dict[str, Source] = {
    **LLAMA,
    **FUSED,
    **QKV_BIAS,
    "blocks.{i}.attention_output_norm.weight": f"{LAYER}.post_self_attn_layernorm.weight",
    "blocks.{i}.feed_forward_output_norm.weight": f"{LAYER}.post_mlp_layernorm.weight",
}
POST_SUBLAYER: dict[str, Source] = {
    **LLAMA,
    **QK_NORM,
    "blocks.{i}.attention_norm.weight": f"{LAYER}.post_attention_layernorm.weight",
    "blocks.{i}.feed_forward_norm.weight": f"{LAYER}.post_feedforward_layernorm.weight",
}
PHI_3: dict[str, Source] = {
    **LLAMA,
    **FUSED,
    "blocks.{i}.attention.qkv.weight": f"{LAYER}.self_attn.qkv_proj.weight",
}
KV: dict[str, Any] = {"num_key_value_heads": 2}
GQA: dict[str, Any] = {"gqa": {"n_kv_heads": 2}}
WINDOW = 4
"""A third of the tokens: most of them look past nothing but the window."""


def described(**model: Any) -> dict[str, Any]:
    """A Llama of these sizes in the words of a grid, changed."""
    return {
        "norm": {"rmsnorm": {"eps": 1e-6}},
        "activation": "swiglu",
        "attention": GQA,
        "position": {"rope": {"theta": 100}},
        "bias": False,
        "d_ff": 96,
        **model,
    }


def oracle(
    name: str, family: str, weights: dict[str, Source], ours: dict[str, Any], **values: Any
) -> Oracle:
    """A model of theirs with an eps of 1e-6 in its norms."""
    asked = {"rms_norm_eps": 1e-6, **KV, **values}
    return Oracle(
        name=name,
        theirs=lambda: rotating(family, **asked),
        model=described(**ours),
        weights=weights,
    )


def llama(kv_heads: int, *, attention_bias: bool = False, mlp_bias: bool = False) -> Oracle:
    return oracle(
        f"Llama, {kv_heads} kv, attention_bias={attention_bias}, mlp_bias={mlp_bias}",
        "Llama",
        {
            **LLAMA,
            **(QKV_BIAS | OUT_BIAS if attention_bias else {}),
            **(GATED_BIAS if mlp_bias else {}),
        },
        {
            "attention": {"gqa": {"n_kv_heads": kv_heads}},
            "bias": {"qkv": attention_bias, "out": attention_bias, "feed_forward": mlp_bias},
        },
        num_key_value_heads=kv_heads,
        attention_bias=attention_bias,
        mlp_bias=mlp_bias,
    )


ORACLES = [
    *(llama(kv_heads) for kv_heads in (1, 2, 4)),
    *(
        llama(2, attention_bias=attention, mlp_bias=mlp)
        for attention, mlp in itertools.product((True, False), repeat=2)
        if attention or mlp
    ),
    oracle(
        "Llama, heads wider than the model",
        "Llama",
        TIED,
        {"head_dim": 24, "tie_embeddings": True},
        head_dim=24,
        tie_word_embeddings=True,
    ),
    oracle(
        "Llama 3.2",
        "Llama",
        TIED,
        {"position": {"rope": {"theta": 100, "stretch": [4, 40]}}, "tie_embeddings": True},
        tie_word_embeddings=True,
        rope={
            "rope_type": "llama3",
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 40,
        },
    ),
    oracle(
        "Mistral, longer than its window",
        "Mistral",
        LLAMA,
        {"attention": {"gqa": {"n_kv_heads": 2, "window": WINDOW}}},
        sliding_window=WINDOW,
    ),
    oracle(
        "Qwen2",
        "Qwen2",
        {**TIED, **QKV_BIAS},
        {"bias": {"qkv": True, "out": False, "feed_forward": False}, "tie_embeddings": True},
        tie_word_embeddings=True,
    ),
    oracle(
        "Qwen3",
        "Qwen3",
        {**TIED, **QK_NORM},
        {
            "attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head"}},
            "head_dim": 32,
            "tie_embeddings": True,
        },
        head_dim=32,
        tie_word_embeddings=True,
    ),
    oracle(
        "Phi-3",
        "Phi3",
        PHI_3,
        {"attention": {"gqa": {"n_kv_heads": 2, "window": WINDOW}}},
        sliding_window=WINDOW,
    ),
    oracle(
        "Granite",
        "Granite",
        LLAMA,
        {
            "attention": {"gqa": {"n_kv_heads": 2, "scale": 0.4}},
            "residual": {"scaled": {"value": 0.22}},
            "embedding_scale": 12,
            "logit_scale": 0.125,
        },
        attention_multiplier=0.4,
        residual_multiplier=0.22,
        embedding_multiplier=12.0,
        logits_scaling=8.0,
    ),
    oracle(
        "Arcee",
        "Arcee",
        ARCEE,
        {"activation": "relu_squared", "bias": True},
        attention_bias=True,
        mlp_bias=True,
    ),
    oracle(
        "Gemma",
        "Gemma",
        TIED,
        {
            "norm": {"rmsnorm": {"eps": 1e-6, "unit_offset": True}},
            "activation": "geglu_tanh",
            "head_dim": 24,
            "embedding_scale": "sqrt_d_model",
            "tie_embeddings": True,
        },
        head_dim=24,
    ),
    oracle(
        "Gemma 2",
        "Gemma2",
        GEMMA_2,
        {
            "norm": {"rmsnorm": {"eps": 1e-6, "unit_offset": True}},
            "activation": "geglu_tanh",
            "attention": {
                "layers": [
                    {"gqa": {"n_kv_heads": 2, "softcap": 2, "window": WINDOW}},
                    {"gqa": {"n_kv_heads": 2, "softcap": 2}},
                ]
            },
            "placement": "sandwich",
            "head_dim": 24,
            "embedding_scale": "sqrt_d_model",
            "logit_softcap": 3,
            "tie_embeddings": True,
        },
        head_dim=24,
        query_pre_attn_scalar=24,  # the head's width, so that scores are scaled as usual
        sliding_window=WINDOW,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    oracle(
        "GLM",
        "Glm",
        {**LLAMA, **FUSED, **QKV_BIAS},
        {
            "position": {"rope": {"theta": 100, "fraction": 0.5, "style": "pairs"}},
            "bias": {"qkv": True, "out": False, "feed_forward": False},
        },
        head_dim=16,
        fraction=0.5,
    ),
    oracle(
        "GLM-4",
        "Glm4",
        GLM_4,
        {
            "placement": "sandwich",
            "position": {"rope": {"theta": 100, "fraction": 0.5, "style": "pairs"}},
            "bias": {"qkv": True, "out": False, "feed_forward": False},
        },
        head_dim=16,
        fraction=0.5,
    ),
    oracle(
        "OLMo-2",
        "Olmo2",
        POST_SUBLAYER,
        {
            "attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "full_width"}},
            "placement": "post_sublayer",
        },
    ),
    oracle(
        "EXAONE-4",
        "Exaone4",
        POST_SUBLAYER,
        {
            "attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head"}},
            "placement": "post_sublayer",
        },
        sliding_window=None,
        layer_types=["full_attention"] * DEPTH,
    ),
    oracle(
        "EXAONE-4, windows that rotate and full attention that does not",
        "Exaone4",
        POST_SUBLAYER,
        {
            "attention": {
                "layers": [
                    {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head", "window": WINDOW}},
                    {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head"}},
                ]
            },
            "position": {"layers": [{"rope": {"theta": 100}}, "none"]},
            "placement": "post_sublayer",
        },
        sliding_window=WINDOW,
        layer_types=["sliding_attention", "full_attention"],
    ),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)
