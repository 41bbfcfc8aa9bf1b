"""Gradients of every built-in against finite differences, and the zeros that theory predicts.

The built-ins are taken from the catalog, with each option that they can have: one that is added is
covered as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ablations
from registry import Catalog, ComponentSpec, Dims, Kind, PluginRecord
from tests.ablations.decoders import SMALL, tokens
from tests.ablations.differences import (
    CATALOG,
    disagreements,
    gradients,
    moved,
    vanishing,
    variants,
)

BUILT_INS = [
    (str(spec.kind), spec.name, options)
    for spec in CATALOG.components()
    if spec.provenance.distribution == "ablations"
    for options in variants(spec)
]

TOGETHER: list[dict[str, Any]] = [
    {"attention": {"mha": {"qk_norm": "per_head"}}, "position": "rope"},
    {"attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "full_width"}}, "position": "rope"},
    {"attention": {"mha": {"qk_norm": "per_head", "window": 2}}, "norm": "rmsnorm"},
    {"attention": {"gqa": {"n_kv_heads": 2, "window": 3}}, "position": "alibi"},
    {"placement": {"parallel": {"norms": 2}}, "residual": {"scaled": {"per_channel": True}}},
    {"placement": "deepnorm", "residual": {"gated": {"initial": 1.0}}, "activation": "swiglu"},
    {"placement": "sandwich", "norm": {"rmsnorm": {"bias": True}}, "bias": False},
    {"placement": "post", "residual": "none", "attention": "mqa"},
    {"tie_embeddings": True, "embedding_norm": "layernorm", "embedding_scale": 3.0},
    {"embedding_dim": 5, "embedding_scale": 2.0, "tie_embeddings": True},
    {"logit_scale": 3.0, "logit_softcap": 1.5, "norm": {"rmsnorm": {"unit_offset": True}}},
    {"attention": {"gqa": {"n_kv_heads": 2, "softcap": 1.5, "window": 3}}, "position": "rope"},
    {"share_layers": 2, "bias": {"head": True}},
    {"norm": {"layers": ["layernorm", "rmsnorm"]}, "activation": {"layers": ["relu", "geglu"]}},
]


def label(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item}" for key, item in value.items()) or "default"
    return str(value)


def ignored_by_softmax(decoder: ablations.Decoder) -> set[str]:
    """What adds one vector to all keys, and so one number to all scores of a query."""
    if any(hasattr(position, "rotate") for position in decoder.positions):
        return set()
    if any(layer.attention.options.get("softcap") for layer in decoder.architecture.layers):
        return set()  # which bends that number
    names = gradients(decoder)
    normed = any(".k_norm." in name for name in names)
    ends = "k_norm.bias" if normed else ("qkv.bias[k]", "attention.k.bias")
    return {name for name in names if name.endswith(ends)}


@pytest.mark.parametrize(("kind", "name", "options"), BUILT_INS, ids=label)
def test_built_ins_against_finite_differences(
    kind: str, name: str, options: dict[str, Any]
) -> None:
    decoder = moved({kind: {name: options} if options else name})
    assert disagreements(decoder) == {}
    assert vanishing(decoder) == ignored_by_softmax(decoder)


@pytest.mark.parametrize("model", TOGETHER, ids=label)
def test_combinations_against_finite_differences(model: dict[str, Any]) -> None:
    decoder = moved(model)
    assert disagreements(decoder) == {}
    assert vanishing(decoder) == ignored_by_softmax(decoder)


def test_every_kind_is_covered_with_its_options() -> None:
    assert {kind for kind, _, _ in BUILT_INS} == set(Kind)
    assert {
        "layernorm(bias=False)",
        "mha(default)",
        "mha(qk_norm=full_width)",
        "gqa(n_kv_heads=2,window=2)",
        "gqa(n_kv_heads=2,scale=none)",
        "parallel(norms=2)",
        "rope(style=pairs)",
        "rope(fraction=0.5)",
        "scaled(per_channel=True)",
    } <= {f"{name}({label(options)})" for _, name, options in BUILT_INS}


class Detached(nn.Module):
    """A norm that takes its own statistics for constants: right values, a wrong gradient."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x / x.detach().square().mean(-1, keepdim=True).sqrt()


class _Imprecise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sigmoid()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        y = ctx.saved_tensors[0].sigmoid()
        return gradient * y * (1 - y) * (1 + 1e-3)


class Imprecise(nn.Module):
    """A sigmoid whose gradient is too large by one part in a thousand."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = _Imprecise.apply(x)
        return y


WRONG = Catalog(
    [
        *CATALOG.plugins,
        PluginRecord(
            name="wrong",
            version="1",
            state="loaded",
            specs=(
                ComponentSpec(kind="norm", name="detached", target=Detached),
                ComponentSpec(kind="activation", name="imprecise", target=Imprecise),
            ),
        ),
    ]
)


def test_an_activation_wrong_by_a_thousandth_is_found_wherever_its_gradient_goes() -> None:
    decoder = moved({"activation": "imprecise"}, WRONG)
    right = {"blocks.1.feed_forward.down.weight", "blocks.1.feed_forward.down.bias"}
    right |= {"final_norm.weight", "final_norm.bias", "head.weight"}
    assert set(disagreements(decoder)) == set(gradients(decoder)) - right - vanishing(decoder)


def test_a_norm_without_the_gradient_of_its_statistics_is_found() -> None:
    decoder = moved({"norm": "detached"}, WRONG)
    right = {"head.weight"}
    assert set(disagreements(decoder)) == set(gradients(decoder)) - right - vanishing(decoder)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({"position": "none"}, {"qkv.bias[k]"}),
        ({"position": "alibi"}, {"qkv.bias[k]"}),
        ({"position": "rope"}, set()),
        ({"attention": {"mha": {"qk_norm": "per_head"}}}, {"k_norm.bias"}),
        ({"attention": {"mha": {"qk_norm": "full_width"}}}, {"k_norm.bias"}),
        ({"attention": {"mha": {"qk_norm": "per_head"}}, "norm": "rmsnorm"}, set()),
        ({"attention": {"mha": {"qk_norm": "per_head"}}, "position": "rope"}, set()),
        ({"attention": {"mha": {"softcap": 1.5}}}, set()),
    ],
    ids=label,
)
def test_softmax_ignores_what_is_added_to_all_scores(
    model: dict[str, Any], expected: set[str]
) -> None:
    """A bias on plain keys, or that of the norm on keys, unless a rotation tells them apart."""
    assert vanishing(moved(model)) == {
        f"blocks.{block}.attention.{name}" for block in (0, 1) for name in expected
    }


def alignments(placement: str, norm: str, eps: float) -> list[float]:
    """The cosine of ⟨W, ∂L/∂W⟩ for what ends the sublayers of three blocks, biases off."""
    decoder = ablations.build(
        {
            **SMALL,
            "d_model": 128,
            "bias": False,
            "placement": placement,
            "norm": {norm: {"eps": eps}},
            "initializer": {"normal": {"embedding_std": 1.0}},
        }
    ).double()
    ids, targets = tokens(), tokens(seed=1)
    F.cross_entropy(decoder(ids).flatten(0, 1), targets.flatten()).backward()
    pairs = [
        (parameter.detach(), parameter.grad)
        for name, parameter in decoder.named_parameters()
        if name.endswith(("attention.out.weight", "feed_forward.down.weight"))
    ]
    assert len(pairs) == 6
    return [float((w * g).sum().abs() / (w.norm() * g.norm())) for w, g in pairs]


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize("placement", ["sandwich", "post_sublayer"])
def test_a_matrix_that_feeds_a_norm_is_at_right_angles_to_its_gradient(
    placement: str, norm: str
) -> None:
    """A norm undoes the length of what it is given, but for its eps: ⟨W, ∂L/∂W⟩ falls with it."""
    usual, tiny = alignments(placement, norm, 1e-5), alignments(placement, norm, 1e-12)
    assert max(usual) < 2e-4
    assert tiny == pytest.approx([1e-7 * cosine for cosine in usual], rel=0.2, abs=1e-14)


@pytest.mark.parametrize("placement", ["pre", "post", "parallel", "deepnorm"])
def test_a_matrix_that_a_stream_is_added_to_is_not(placement: str) -> None:
    assert max(alignments(placement, "layernorm", 1e-12)) > 2e-3
