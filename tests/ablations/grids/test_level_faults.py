"""Levels that no model can have, and factors that change none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ablations.loading import HEAD, load, refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "factors:\n  head_dim: [null, 64]\n  d_ff: [null, 1024, {multiple_of_d_model: 4}]\n",
            [
                "4:3: factors.head_dim: has no effect: all its levels describe the same model",
                "5:3: factors.d_ff: has no effect: all its levels describe the same model",
            ],
        ),
        (
            "model: {feed_forward: own}\nfactors: {activation: [gelu, silu]}\n",
            [
                "4:11: factors.activation: has no effect: no other component of the grid uses its "
                "activation"
            ],
        ),
        (
            "factors:\n  bias: [true, false]\n  bias.qkv: [true, false]\n  bias.out: [true]\n"
            "  bias.feed_forward: [true, false]\n",
            ["4:3: factors.bias: has no effect: all its levels describe the same model"],
        ),
        (
            "model: {n_heads: 3}\nfactors: {norm: [layernorm, rmsnorm]}\n",
            [
                "3:18: model.n_heads: d_model 256 is not divisible by n_heads 3; give head_dim, "
                "or heads that divide"
            ],
        ),
        (
            "factors: {n_heads: [2, 3, 4], norm: [layernorm, rmsnorm]}\n",
            [
                "3:24: factors.n_heads[1]: no cell with n_heads=3 is possible: d_model 256 is not "
                "divisible by n_heads 3; give head_dim, or heads that divide"
            ],
        ),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == [f"grid.yaml:{line}" for line in expected]


@pytest.mark.parametrize(
    "text",
    [
        "factors: {d_ff: [null, 1024], activation: [gelu, swiglu]}",
        "factors: {head_dim: [null, 64], d_model: [256, 128]}",
        "factors: {bias: [true, false], bias.qkv: [true, false]}",
        "factors: {n_heads: [3, 4], head_dim: [null, 32]}",
        "factors: {dropout: [0.1]}",
        "factors: {norm: [{layers: [layernorm, rmsnorm]}, layernorm]}",
        "factors: {feed_forward: [mlp, own], activation: [gelu, silu]}",
        "model: {attention: gqa}\nfactors: {attention.n_kv_heads: [1, 2]}",
        "factors: {embedding_norm: [null, layernorm]}",
        "factors: {final_norm: [auto, true, false], tie_embeddings: [true, false]}",
    ],
)
def test_what_may_have_an_effect_is_let_pass(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, f"{HEAD}{text}\n").factors
