"""The level to compare with, from what is named, given or first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ablations.loading import HEAD, load, refused


@pytest.mark.parametrize(
    ("text", "baseline"),
    [
        ("factors: {norm: [rmsnorm, layernorm]}", {"norm": "rmsnorm"}),
        (
            "model: {norm: layernorm}\nfactors: {norm: [rmsnorm, layernorm]}",
            {"norm": "layernorm"},
        ),
        (
            "model: {norm: {layernorm: {eps: 1e-5}}}\nfactors: {norm: [rmsnorm, layernorm]}",
            {"norm": "layernorm"},
        ),
        (
            "model: {norm: {rmsnorm: {eps: 1}}}\nfactors: {norm.eps: [0.5, 1.0]}",
            {"norm.eps": "1.0"},
        ),
        ("model: {bias: false}\nfactors: {bias.qkv: [true, false]}", {"bias.qkv": "false"}),
        ("model: {bias: {qkv: false}}\nfactors: {bias.qkv: [true, false]}", {"bias.qkv": "false"}),
        (
            "factors: {depth: [2, 4], n_heads: [1, 2]}\nbaseline: {depth: 4}",
            {"depth": "4", "n_heads": "1"},
        ),
        (
            "factors: {norm: [rmsnorm, {layernorm: {eps: 1e-6}}]}\n"
            "baseline: {norm: layernorm(eps=1e-06)}",
            {"norm": "layernorm(eps=1e-06)"},
        ),
        (
            "factors: {bias: [true, {qkv: false}]}\nbaseline: {bias: {qkv: false, head: false}}",
            {"bias": "qkv=false"},
        ),
        ("factors: {head_dim: [null, 32]}\nbaseline: {head_dim: 32}", {"head_dim": "32"}),
        (
            "factors: {attention: [gqa, {gqa: {scale: 2}}], attention.n_kv_heads: [1, 2]}\n"
            "baseline: {attention: {gqa: {scale: 2.0}}, attention.n_kv_heads: 2}",
            {"attention": "gqa(scale=2)", "attention.n_kv_heads": "2"},
        ),
    ],
)
def test_the_baseline(tmp_path: Path, text: str, baseline: dict[str, str]) -> None:
    assert load(tmp_path, f"{HEAD}{text}\n").baseline == baseline


def test_what_a_measure_is_asked_for_is_the_baseline_of_its_factor(tmp_path: Path) -> None:
    text = "name: x\nfactors: {training.steps: [5, 10]}\nmeasures: [{training: {steps: 10}}]\n"
    assert load(tmp_path, text).baseline == {"training.steps": "10"}
    text = "name: x\nfactors: {training.steps: [5, 10]}\nmeasures: [training]\n"
    assert load(tmp_path, text).baseline == {"training.steps": "5"}


def test_the_baseline_names_factors_and_their_levels(tmp_path: Path) -> None:
    text = (
        "factors: {norm: [layernorm, rmsnorm], depth: [2, 4]}\n"
        "baseline: {norm: rmsnrom, nrom: rmsnorm, depth: 5}\n"
    )
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:4:18: baseline.norm: rmsnrom is not a level of norm; "
        "did you mean 'rmsnorm'? known: layernorm, rmsnorm",
        "grid.yaml:4:27: baseline.nrom: is not a factor; did you mean 'norm'? known: depth, norm",
        "grid.yaml:4:49: baseline.depth: 5 is not a level of depth; known: 2, 4",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "model: {norm: layernorm}\nfactors: {norm: [rmsnorm, {layernorm: {eps: 1}}]}\n",
            [
                "3:9: model.norm: layernorm has no effect: it is not a level of factor norm; did "
                "you mean 'layernorm(eps=1)'? known: layernorm(eps=1), rmsnorm"
            ],
        ),
        (
            "model: {attention: {gqa: {n_kv_heads: 4}}, bias: {qkv: true}}\n"
            "factors: {attention.n_kv_heads: [1, 2], bias.qkv: [false]}\n",
            [
                "3:27: model.attention.gqa.n_kv_heads: 4 has no effect: it is not a level of "
                "factor attention.n_kv_heads; known: 1, 2",
                "3:51: model.bias.qkv: true has no effect: it is not a level of factor bias.qkv; "
                "known: false",
            ],
        ),
    ],
)
def test_what_is_given_for_a_factor_is_one_of_its_levels(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert refused(tmp_path, HEAD + text) == [f"grid.yaml:{line}" for line in expected]
