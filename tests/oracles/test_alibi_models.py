"""BLOOM and MPT: LayerNorm, an ungated feed-forward, and scores that fall with the distance."""

from __future__ import annotations

import pytest

from tests.oracles.oracle import CONTEXT, DEPTH, Oracle, Source, assert_equal, head_by_head, made

MPT: dict[str, Source] = {
    "token_embedding.weight": "transformer.wte.weight",
    "blocks.{i}.attention_norm.weight": "transformer.blocks.{i}.norm_1.weight",
    "blocks.{i}.attention.qkv.weight": "transformer.blocks.{i}.attn.Wqkv.weight",
    "blocks.{i}.attention.out.weight": "transformer.blocks.{i}.attn.out_proj.weight",
    "blocks.{i}.feed_forward_norm.weight": "transformer.blocks.{i}.norm_2.weight",
    "blocks.{i}.feed_forward.up.weight": "transformer.blocks.{i}.ffn.up_proj.weight",
    "blocks.{i}.feed_forward.down.weight": "transformer.blocks.{i}.ffn.down_proj.weight",
    "final_norm.weight": "transformer.norm_f.weight",
}


def weights_of_bloom(heads: int) -> dict[str, Source]:
    fused = "transformer.h.{i}.self_attention.query_key_value"
    return {
        "token_embedding.weight": "transformer.word_embeddings.weight",
        "embedding_norm.weight": "transformer.word_embeddings_layernorm.weight",
        "embedding_norm.bias": "transformer.word_embeddings_layernorm.bias",
        "blocks.{i}.attention_norm.weight": "transformer.h.{i}.input_layernorm.weight",
        "blocks.{i}.attention_norm.bias": "transformer.h.{i}.input_layernorm.bias",
        "blocks.{i}.attention.qkv.weight": head_by_head(f"{fused}.weight", heads),
        "blocks.{i}.attention.qkv.bias": head_by_head(f"{fused}.bias", heads),
        "blocks.{i}.attention.out.weight": "transformer.h.{i}.self_attention.dense.weight",
        "blocks.{i}.attention.out.bias": "transformer.h.{i}.self_attention.dense.bias",
        "blocks.{i}.feed_forward_norm.weight": "transformer.h.{i}.post_attention_layernorm.weight",
        "blocks.{i}.feed_forward_norm.bias": "transformer.h.{i}.post_attention_layernorm.bias",
        "blocks.{i}.feed_forward.up.weight": "transformer.h.{i}.mlp.dense_h_to_4h.weight",
        "blocks.{i}.feed_forward.up.bias": "transformer.h.{i}.mlp.dense_h_to_4h.bias",
        "blocks.{i}.feed_forward.down.weight": "transformer.h.{i}.mlp.dense_4h_to_h.weight",
        "blocks.{i}.feed_forward.down.bias": "transformer.h.{i}.mlp.dense_4h_to_h.bias",
        "final_norm.weight": "transformer.ln_f.weight",
        "final_norm.bias": "transformer.ln_f.bias",
    }


def bloom(heads: int, d_model: int) -> Oracle:
    values = {"hidden_size": d_model, "n_layer": DEPTH, "n_head": heads}
    return Oracle(
        name=f"BLOOM, {heads} heads",
        theirs=lambda: made("Bloom", **values),
        model={
            "d_model": d_model,
            "n_heads": heads,
            "activation": "gelu_tanh",
            "position": "alibi",
            "embedding_norm": "layernorm",
            "tie_embeddings": True,
        },
        weights=weights_of_bloom(heads),
    )


def mpt(heads: int, d_model: int) -> Oracle:
    values = {
        "d_model": d_model,
        "n_heads": heads,
        "n_layers": DEPTH,
        "max_seq_len": CONTEXT,
    }
    return Oracle(
        name=f"MPT, {heads} heads",
        theirs=lambda: made("Mpt", **values),
        model={
            "d_model": d_model,
            "n_heads": heads,
            "norm": {"layernorm": {"bias": False}},
            "position": "alibi",
            "bias": False,
            "tie_embeddings": True,
        },
        weights=MPT,
    )


ORACLES = [bloom(4, 64), bloom(6, 96), mpt(4, 64), mpt(6, 96)]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)
