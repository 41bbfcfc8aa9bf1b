"""Names of parameters in the models of transformers that are built as Llama is.

They differ in norms, in biases and in what is fused; the rest has the same names in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from tests.oracles.oracle import DEPTH, Source, made

LAYER = "model.layers.{i}"
SIZES = {
    "hidden_size": 64,
    "num_hidden_layers": DEPTH,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 16,
}
EMBEDDING: dict[str, Source] = {"token_embedding.weight": "model.embed_tokens.weight"}
HEAD: dict[str, Source] = {"head.weight": "lm_head.weight"}
FINAL_NORM: dict[str, Source] = {"final_norm.weight": "model.norm.weight"}
ATTENTION: dict[str, Source] = {
    "blocks.{i}.attention.qkv.weight": (
        f"{LAYER}.self_attn.q_proj.weight",
        f"{LAYER}.self_attn.k_proj.weight",
        f"{LAYER}.self_attn.v_proj.weight",
    ),
    "blocks.{i}.attention.out.weight": f"{LAYER}.self_attn.o_proj.weight",
}
QKV_BIAS: dict[str, Source] = {
    "blocks.{i}.attention.qkv.bias": (
        f"{LAYER}.self_attn.q_proj.bias",
        f"{LAYER}.self_attn.k_proj.bias",
        f"{LAYER}.self_attn.v_proj.bias",
    ),
}
OUT_BIAS: dict[str, Source] = {
    "blocks.{i}.attention.out.bias": f"{LAYER}.self_attn.o_proj.bias",
}
QK_NORM: dict[str, Source] = {
    "blocks.{i}.attention.q_norm.weight": f"{LAYER}.self_attn.q_norm.weight",
    "blocks.{i}.attention.k_norm.weight": f"{LAYER}.self_attn.k_norm.weight",
}
GATED: dict[str, Source] = {
    "blocks.{i}.feed_forward.gate.weight": f"{LAYER}.mlp.gate_proj.weight",
    "blocks.{i}.feed_forward.up.weight": f"{LAYER}.mlp.up_proj.weight",
    "blocks.{i}.feed_forward.down.weight": f"{LAYER}.mlp.down_proj.weight",
}
GATED_BIAS: dict[str, Source] = {
    "blocks.{i}.feed_forward.gate.bias": f"{LAYER}.mlp.gate_proj.bias",
    "blocks.{i}.feed_forward.up.bias": f"{LAYER}.mlp.up_proj.bias",
    "blocks.{i}.feed_forward.down.bias": f"{LAYER}.mlp.down_proj.bias",
}
PRE_NORMS: dict[str, Source] = {
    "blocks.{i}.attention_norm.weight": f"{LAYER}.input_layernorm.weight",
    "blocks.{i}.feed_forward_norm.weight": f"{LAYER}.post_attention_layernorm.weight",
}


def norm_biases(weights: dict[str, Source]) -> dict[str, Source]:
    """The biases of the norms of a table, which stand beside their weights."""
    return {
        name.removesuffix("weight") + "bias": source.removesuffix("weight") + "bias"
        for name, source in weights.items()
        if name.endswith("norm.weight") and isinstance(source, str)
    }


def rotating(
    family: str, *, fraction: float = 1.0, rope: Mapping[str, Any] | None = None, **values: Any
) -> nn.Module:
    """A model of that family, whose rotations differ much over a few tokens."""
    rope = {"rope_type": "default", "rope_theta": 100.0, **(rope or {})}
    if fraction != 1:
        rope["partial_rotary_factor"] = fraction
    return made(family, **{**SIZES, "pad_token_id": None, "rope_parameters": rope, **values})


def rope(**options: Any) -> dict[str, Any]:
    """The same rotations in the words of a grid."""
    return {"rope": {"theta": 100, **options}}


def grouped(kv_heads: int, **options: Any) -> dict[str, Any]:
    """Grouped-query attention in the words of a grid."""
    return {"gqa": {"n_kv_heads": kv_heads, **options}}
