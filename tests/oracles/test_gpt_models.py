"""GPT-1, GPT-2, GPT-BigCode, OPT and XGLM: LayerNorm, an ungated feed-forward, positions added."""

from __future__ import annotations

import itertools

import pytest

from tests.oracles.oracle import (
    CONTEXT,
    DEPTH,
    Oracle,
    Source,
    assert_equal,
    head_by_head,
    made,
    transposed,
)

GPT2: dict[str, Source] = {
    "token_embedding.weight": "transformer.wte.weight",
    "positions.0.table": "transformer.wpe.weight",
    "blocks.{i}.attention_norm.weight": "transformer.h.{i}.ln_1.weight",
    "blocks.{i}.attention_norm.bias": "transformer.h.{i}.ln_1.bias",
    "blocks.{i}.attention.qkv.weight": transposed("transformer.h.{i}.attn.c_attn.weight"),
    "blocks.{i}.attention.qkv.bias": "transformer.h.{i}.attn.c_attn.bias",
    "blocks.{i}.attention.out.weight": transposed("transformer.h.{i}.attn.c_proj.weight"),
    "blocks.{i}.attention.out.bias": "transformer.h.{i}.attn.c_proj.bias",
    "blocks.{i}.feed_forward_norm.weight": "transformer.h.{i}.ln_2.weight",
    "blocks.{i}.feed_forward_norm.bias": "transformer.h.{i}.ln_2.bias",
    "blocks.{i}.feed_forward.up.weight": transposed("transformer.h.{i}.mlp.c_fc.weight"),
    "blocks.{i}.feed_forward.up.bias": "transformer.h.{i}.mlp.c_fc.bias",
    "blocks.{i}.feed_forward.down.weight": transposed("transformer.h.{i}.mlp.c_proj.weight"),
    "blocks.{i}.feed_forward.down.bias": "transformer.h.{i}.mlp.c_proj.bias",
    "final_norm.weight": "transformer.ln_f.weight",
    "final_norm.bias": "transformer.ln_f.bias",
}
GPT1: dict[str, Source] = {
    **{name: source for name, source in GPT2.items() if not name.startswith("final_norm")},
    "token_embedding.weight": "transformer.tokens_embed.weight",
    "positions.0.table": "transformer.positions_embed.weight",
}
BIG_CODE: dict[str, Source] = {
    **GPT2,  # but for matrices kept as (out, in)
    "blocks.{i}.attention.qkv.weight": "transformer.h.{i}.attn.c_attn.weight",
    "blocks.{i}.attention.out.weight": "transformer.h.{i}.attn.c_proj.weight",
    "blocks.{i}.feed_forward.up.weight": "transformer.h.{i}.mlp.c_fc.weight",
    "blocks.{i}.feed_forward.down.weight": "transformer.h.{i}.mlp.c_proj.weight",
}
OPT: dict[str, Source] = {
    "token_embedding.weight": "model.decoder.embed_tokens.weight",
    "positions.0.table": "model.decoder.embed_positions.weight",
    "blocks.{i}.attention_norm.weight": "model.decoder.layers.{i}.self_attn_layer_norm.weight",
    "blocks.{i}.attention_norm.bias": "model.decoder.layers.{i}.self_attn_layer_norm.bias",
    "blocks.{i}.attention.qkv.weight": (
        "model.decoder.layers.{i}.self_attn.q_proj.weight",
        "model.decoder.layers.{i}.self_attn.k_proj.weight",
        "model.decoder.layers.{i}.self_attn.v_proj.weight",
    ),
    "blocks.{i}.attention.qkv.bias": (
        "model.decoder.layers.{i}.self_attn.q_proj.bias",
        "model.decoder.layers.{i}.self_attn.k_proj.bias",
        "model.decoder.layers.{i}.self_attn.v_proj.bias",
    ),
    "blocks.{i}.attention.out.weight": "model.decoder.layers.{i}.self_attn.out_proj.weight",
    "blocks.{i}.attention.out.bias": "model.decoder.layers.{i}.self_attn.out_proj.bias",
    "blocks.{i}.feed_forward_norm.weight": "model.decoder.layers.{i}.final_layer_norm.weight",
    "blocks.{i}.feed_forward_norm.bias": "model.decoder.layers.{i}.final_layer_norm.bias",
    "blocks.{i}.feed_forward.up.weight": "model.decoder.layers.{i}.fc1.weight",
    "blocks.{i}.feed_forward.up.bias": "model.decoder.layers.{i}.fc1.bias",
    "blocks.{i}.feed_forward.down.weight": "model.decoder.layers.{i}.fc2.weight",
    "blocks.{i}.feed_forward.down.bias": "model.decoder.layers.{i}.fc2.bias",
    "final_norm.weight": "model.decoder.final_layer_norm.weight",
    "final_norm.bias": "model.decoder.final_layer_norm.bias",
}
PROJECTIONS: dict[str, Source] = {
    "embedding_projection.weight": "model.decoder.project_in.weight",
    "head_projection.weight": "model.decoder.project_out.weight",
}
XGLM: dict[str, Source] = {
    "token_embedding.weight": "model.embed_tokens.weight",
    "blocks.{i}.attention_norm.weight": "model.layers.{i}.self_attn_layer_norm.weight",
    "blocks.{i}.attention_norm.bias": "model.layers.{i}.self_attn_layer_norm.bias",
    "blocks.{i}.attention.qkv.weight": (
        "model.layers.{i}.self_attn.q_proj.weight",
        "model.layers.{i}.self_attn.k_proj.weight",
        "model.layers.{i}.self_attn.v_proj.weight",
    ),
    "blocks.{i}.attention.qkv.bias": (
        "model.layers.{i}.self_attn.q_proj.bias",
        "model.layers.{i}.self_attn.k_proj.bias",
        "model.layers.{i}.self_attn.v_proj.bias",
    ),
    "blocks.{i}.attention.out.weight": "model.layers.{i}.self_attn.out_proj.weight",
    "blocks.{i}.attention.out.bias": "model.layers.{i}.self_attn.out_proj.bias",
    "blocks.{i}.feed_forward_norm.weight": "model.layers.{i}.final_layer_norm.weight",
    "blocks.{i}.feed_forward_norm.bias": "model.layers.{i}.final_layer_norm.bias",
    "blocks.{i}.feed_forward.up.weight": "model.layers.{i}.fc1.weight",
    "blocks.{i}.feed_forward.up.bias": "model.layers.{i}.fc1.bias",
    "blocks.{i}.feed_forward.down.weight": "model.layers.{i}.fc2.weight",
    "blocks.{i}.feed_forward.down.bias": "model.layers.{i}.fc2.bias",
    "final_norm.weight": "model.layer_norm.weight",
    "final_norm.bias": "model.layer_norm.bias",
}
ACTIVATIONS = {
    "relu": "relu",
    "relu2": "relu_squared",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "silu": "silu",
}
"""Their names of activations, and ours."""


def without_biases(weights: dict[str, Source]) -> dict[str, Source]:
    """A table without the biases of linear maps; those of norms stay."""
    return {
        name: source
        for name, source in weights.items()
        if not name.endswith(".bias") or "norm." in name
    }


GPT_SIZES = {"n_embd": 64, "n_layer": DEPTH, "n_head": 4, "n_positions": CONTEXT}
OPT_SIZES = {
    "hidden_size": 64,
    "num_hidden_layers": DEPTH,
    "num_attention_heads": 4,
    "ffn_dim": 96,
    "max_position_embeddings": CONTEXT,
    "pad_token_id": None,
}


def gpt2(activation: str) -> Oracle:
    values = {**GPT_SIZES, "n_inner": 96, "activation_function": activation}
    return Oracle(
        name=f"GPT-2, {activation}",
        theirs=lambda: made("GPT2", "LMHeadModel", **values),
        model={"activation": ACTIVATIONS[activation], "d_ff": 96, "tie_embeddings": True},
        weights=GPT2,
    )


def gpt1() -> Oracle:
    return Oracle(
        name="GPT-1",
        theirs=lambda: made("OpenAIGPT", "LMHeadModel", **GPT_SIZES),
        model={"activation": "gelu_tanh", "placement": "post", "tie_embeddings": True},
        weights=GPT1,
    )


def big_code(multi_query: bool) -> Oracle:
    values = {**GPT_SIZES, "multi_query": multi_query}
    weights = dict(BIG_CODE)
    if not multi_query:
        for kind in ("weight", "bias"):
            fused = f"transformer.h.{{i}}.attn.c_attn.{kind}"
            weights[f"blocks.{{i}}.attention.qkv.{kind}"] = head_by_head(fused, 4)
    return Oracle(
        name=f"GPT-BigCode, {'multi-query' if multi_query else 'multi-head'}",
        theirs=lambda: made("GPTBigCode", **values),
        model={
            "activation": "gelu_tanh",
            "attention": "mqa" if multi_query else "mha",
            "tie_embeddings": True,
        },
        weights=weights,
    )


def opt(
    *, before: bool, bias: bool, activation: str, width: int = 64, affine: bool = True
) -> Oracle:
    values = {
        **OPT_SIZES,
        "do_layer_norm_before": before,
        "enable_bias": bias,
        "activation_function": activation,
        "word_embed_proj_dim": width,
        "layer_norm_elementwise_affine": affine,
    }
    weights = dict(OPT) if bias else without_biases(OPT)
    if width != 64:
        weights |= PROJECTIONS
    if not affine:
        weights = {name: source for name, source in weights.items() if "norm." not in name}
    if not before:
        weights = {n: source for n, source in weights.items() if not n.startswith("final_norm")}
    return Oracle(
        name=f"OPT, {'pre' if before else 'post'}, {activation}, bias={bias}, width={width}",
        theirs=lambda: made("OPT", **values),
        model={
            "norm": {"layernorm": {"weight": affine, "bias": affine}},
            "placement": "pre" if before else "post",
            "bias": bias,
            "activation": ACTIVATIONS[activation],
            "position": {"learned": {"offset": 2}},
            "d_ff": 96,
            "embedding_dim": None if width == 64 else width,
            "tie_embeddings": True,
        },
        weights=weights,
    )


def xglm() -> Oracle:
    values = {
        "d_model": 64,
        "num_layers": DEPTH,
        "attention_heads": 4,
        "ffn_dim": 96,
        "max_position_embeddings": CONTEXT,
    }
    return Oracle(
        name="XGLM",
        theirs=lambda: made("XGLM", **values),
        model={
            "position": {"sinusoidal": {"amplitude": 1, "layout": "halves", "offset": 2}},
            "embedding_scale": "sqrt_d_model",
            "d_ff": 96,
            "tie_embeddings": True,
        },
        weights=XGLM,
    )


ORACLES = [
    gpt1(),
    gpt2("gelu_new"),
    gpt2("gelu"),
    big_code(multi_query=True),
    big_code(multi_query=False),
    *(
        opt(before=before, bias=bias, activation=activation)
        for before, bias, activation in itertools.product(
            (True, False), (True, False), ("relu", "gelu_new")
        )
    ),
    *(opt(before=True, bias=True, activation=name) for name in ("relu2", "gelu", "silu")),
    opt(before=False, bias=True, activation="relu", width=24),
    opt(before=True, bias=False, activation="relu", width=24, affine=False),
    xglm(),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)
