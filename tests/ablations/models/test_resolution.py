"""Models to architectures and to canonical texts; what is wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ablations.grids.document import Fault, GridError
from ablations.grids.faults import Conflict
from ablations.models.canonical import canonical_json
from ablations.models.resolution import Resolver, resolve
from registry import Dims
from tests.ablations.dummies import parts


def faults(model: Mapping[str, Any]) -> list[Fault]:
    return Resolver(parts()).faults(model)


def conflict(model: Mapping[str, Any]) -> tuple[str, str]:
    with pytest.raises(Conflict) as caught:
        resolve(model, parts())
    return caught.value.key, str(caught.value)


def canonical(model: Mapping[str, Any]) -> str:
    return canonical_json(Resolver(parts()).canonical(model))


def test_an_empty_mapping_is_the_default_model() -> None:
    architecture = resolve({}, parts())
    assert architecture.depth == 12
    assert architecture.head_dim == 64
    assert architecture.final_norm is None
    assert architecture.d_ff_rule == "4·d_model (ungated gelu)"
    assert (architecture.qkv_bias, architecture.out_bias) == (True, True)
    assert (architecture.feed_forward_bias, architecture.head_bias) == (True, False)
    block = architecture.layers[11]
    assert (block.norm.name, block.norm.options) == ("layernorm", {"eps": 1e-5})
    assert block.d_ff == 1024
    assert architecture.dims(3).n_kv_heads == 4


def test_every_value_reaches_the_architecture() -> None:
    architecture = resolve(
        {
            "depth": 2,
            "d_model": 48,
            "n_heads": 6,
            "head_dim": 16,
            "context": 8,
            "vocab_size": 11,
            "attention": {"gqa": {"n_kv_heads": 3}},
            "initializer": {"normal": {"std": 1}},
            "embedding_norm": "rmsnorm",
            "embedding_scale": 2,
            "embedding_dim": 24,
            "logit_scale": 3,
            "logit_softcap": 30,
            "final_norm": False,
            "bias": {"qkv": False, "out": False, "feed_forward": False, "head": True},
            "tie_embeddings": True,
            "dropout": {"attention": 0.1, "residual": 0.2},
            "share_layers": 2,
            "d_ff": 40,
        },
        parts(),
    )
    assert architecture.dims(1) == Dims(
        d_model=48,
        n_heads=6,
        n_kv_heads=3,
        head_dim=16,
        d_ff=40,
        context=8,
        depth=2,
        layer=1,
        qkv_bias=False,
        out_bias=False,
        feed_forward_bias=False,
        attention_dropout=0.1,
    )
    assert architecture.initializer.options == {"std": 1.0}
    assert architecture.embedding_norm is not None
    assert architecture.embedding_norm.name == "rmsnorm"
    assert (architecture.embedding_scale, architecture.final_norm) == (2.0, False)
    assert architecture.embedding_dim == 24
    assert (architecture.logit_scale, architecture.logit_softcap) == (3.0, 30.0)
    assert (architecture.head_bias, architecture.tie_embeddings) == (True, True)
    assert (architecture.residual_dropout, architecture.share_layers) == (0.2, 2)
    assert (architecture.vocab_size, architecture.d_ff_rule) == (11, "given")


def test_what_follows_the_width_of_the_model() -> None:
    architecture = resolve({"embedding_scale": "sqrt_d_model", "embedding_dim": 256}, parts())
    assert architecture.embedding_scale == 16.0
    assert architecture.embedding_dim is None  # as wide as the model: nothing to project


def test_layers_repeat_to_the_depth_and_the_last_round_may_be_cut() -> None:
    architecture = resolve(
        {
            "depth": 5,
            "norm": {"layers": ["layernorm", "layernorm", {"rmsnorm": {"eps": 1e-6}}]},
            "d_ff": {"layers": [8, {"multiple_of_d_model": 1}]},
        },
        parts(),
    )
    names = [block.norm.name for block in architecture.layers]
    assert names == ["layernorm", "layernorm", "rmsnorm", "layernorm", "layernorm"]
    assert [block.d_ff for block in architecture.layers] == [8, 256, 8, 256, 8]
    assert architecture.d_ff_rule == "given; 1·d_model"


def test_values_that_do_not_go_together() -> None:
    assert conflict({"n_heads": 3}) == (
        "n_heads",
        "d_model 256 is not divisible by n_heads 3; give head_dim, or heads that divide",
    )
    assert conflict({"depth": 2, "norm": {"layers": ["layernorm"] * 3}}) == (
        "norm",
        "norm names 3 layers, more than the depth of 2",
    )
    assert conflict({"depth": 12, "share_layers": 5}) == (
        "share_layers",
        "share_layers 5 does not divide depth 12",
    )
    assert conflict({"share_layers": 2, "norm": {"layers": ["layernorm", "rmsnorm"]}}) == (
        "share_layers",
        "share_layers 2 shares layers 0 and 1, whose components differ",
    )
    assert conflict({"d_model": 2**30, "d_ff": {"multiple_of_d_model": 4}}) == (
        "d_ff",
        "the feed-forward width would be 4294967296, above 2147483647",
    )
    alike = {"layers": ["layernorm", {"layernorm": {"eps": 1e-5}}]}
    assert resolve({"share_layers": 2, "norm": alike}, parts()).share_layers == 2


def test_faults_are_told_all_at_once_where_they_are() -> None:
    known = "known: absent, layernorm, odd, rmsnorm, unannotated"
    assert faults(
        {
            "depth": 0,
            "norm": {"layers": ["rmsnrom", {"rmsnorm": {"esp": 1, "eps": "x"}}, 3]},
            "attention": "gqa",
            "activation": {"gelu": None},
            "position": {"learned": {}, "broken": {}},
            "residual": {"layers": []},
            "initializer": {"layers": ["normal"]},
            "embedding_norm": 3,
        }
    ) == [
        Fault(("depth",), "expected an integer from 1 to 4096, not 0"),
        Fault(("norm", "layers", 2), "expected norm as name, {name: {option: value}}, not 3"),
        Fault(("norm", "layers", 0), f"unknown norm 'rmsnrom'; did you mean 'rmsnorm'? {known}"),
        Fault(
            ("norm", "layers", 1, "rmsnorm", "esp"),
            "norm 'rmsnorm' has no option 'esp'; did you mean 'eps'? known: eps",
            on_key=True,
        ),
        Fault(
            ("norm", "layers", 1, "rmsnorm", "eps"),
            "option 'eps' of norm 'rmsnorm' must be number > 0, not 'x'",
        ),
        Fault(
            ("activation",),
            "expected activation as name, {name: {option: value}} or {layers: [...]}, "
            "not a mapping of 1",
        ),
        Fault(("attention", "gqa"), "attention 'gqa' needs option 'n_kv_heads' (int > 0)"),
        Fault(
            ("position",),
            "expected position as name, {name: {option: value}} or {layers: [...]}, "
            "not a mapping of 2",
        ),
        Fault(
            ("residual", "layers"), "expected a list of at least one component, not an empty list"
        ),
        Fault(
            ("initializer",),
            "expected initializer as name, {name: {option: value}}, not a mapping of 1",
        ),
        Fault(
            ("embedding_norm",),
            "expected norm as name, {name: {option: value}} or null, not 3",
        ),
    ]


def test_resolve_tells_faults_by_their_path_alone() -> None:
    with pytest.raises(GridError) as caught:
        resolve({"depth": 0, "norm": "rmsnrom"}, parts())
    assert str(caught.value).splitlines() == [
        "depth: expected an integer from 1 to 4096, not 0",
        "norm: unknown norm 'rmsnrom'; did you mean 'rmsnorm'? "
        "known: absent, layernorm, odd, rmsnorm, unannotated",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"depth": 12, "norm": "layernorm"}),
        ({"norm": "rmsnorm"}, {"norm": {"rmsnorm": {"eps": 1e-5}}}),
        ({"norm": "rmsnorm"}, {"norm": {"layers": ["rmsnorm", {"rmsnorm": {}}]}}),
        (
            {"norm": {"layers": ["rmsnorm", "layernorm"]}},
            {"norm": {"layers": ["rmsnorm", "layernorm"] * 2}},
        ),
        ({"bias": True}, {"bias": {"qkv": True}}),
        ({"dropout": 0}, {"dropout": {"attention": 0.0}}),
        ({"dropout": -0.0}, {}),
        ({"embedding_scale": 2}, {"embedding_scale": 2.0}),
        ({"initializer": {"normal": {"std": 1}}}, {"initializer": {"normal": {"std": 1.0}}}),
        (
            {"d_ff": {"multiple_of_d_model": 4}},
            {"d_ff": {"multiple_of_d_model": 4.0, "round_to": 1}},
        ),
        ({"d_ff": {"layers": [8, 8]}}, {"d_ff": 8}),
    ],
)
def test_equal_models_have_one_canonical_text(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"norm": {"rmsnorm": {"eps": 1e-6}}}, {"norm": "rmsnorm"}),
        ({"norm": {"layers": ["rmsnorm", "layernorm"]}}, {"norm": "rmsnorm"}),
        ({"bias": True}, {"bias": {"head": True}}),
        ({"final_norm": True}, {"final_norm": "auto"}),
        ({"head_dim": 64}, {}),
        (
            {"attention": {"gqa": {"n_kv_heads": 2, "scale": None}}},
            {"attention": {"gqa": {"n_kv_heads": 2, "scale": "none"}}},
        ),
    ],
)
def test_models_that_differ_have_texts_that_differ(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert canonical(one) != canonical(other)
