"""Models to architectures, with small torch-free parts that the tests of grids share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Gt

from ablations.architecture import Architecture
from ablations.document import Fault, GridError
from ablations.resolution import (
    Conflict,
    Resolver,
    Setting,
    canonical_json,
    label,
    resolve,
    settings,
    with_part,
)
from registry import (
    Catalog,
    ComponentSpec,
    Dims,
    Kind,
    MeasureSpec,
    Metric,
    PluginRecord,
    Provenance,
)


class LayerNorm:
    def __init__(self, dims: Dims, *, eps: Annotated[float, Gt(0)] = 1e-5) -> None: ...


class RMSNorm:
    def __init__(self, dims: Dims, *, eps: Annotated[float, Gt(0)] = 1e-5) -> None: ...


class Ungated:
    def __init__(self, dims: Dims) -> None: ...


class Silu:
    def __init__(self, dims: Dims) -> None: ...


class Gated:
    gated = True

    def __init__(self, dims: Dims) -> None: ...


class Mlp:
    def __init__(self, dims: Dims, activation: Any) -> None: ...


class OwnActivation:
    def __init__(self, dims: Dims) -> None: ...


class Attention:
    def __init__(self, dims: Dims, *, window: Annotated[int, Gt(0)] | None = None) -> None: ...


class Grouped:
    def __init__(
        self,
        dims: Dims,
        *,
        n_kv_heads: Annotated[int, Gt(0)],
        scale: Literal["none"] | float | None = None,
    ) -> None: ...

    @classmethod
    def unsupported(cls, dims: Dims, model: Architecture) -> str | None:
        if dims.n_heads % dims.n_kv_heads:
            return f"n_kv_heads {dims.n_kv_heads} does not divide n_heads {dims.n_heads}"
        return None


class Broken:
    def __init__(self, dims: Dims) -> None: ...

    @classmethod
    def unsupported(cls, dims: Dims, model: Architecture) -> str | None:
        raise RuntimeError("broken")


class Unannotated:
    def __init__(self, dims: Dims, *, size=3) -> None: ...  # type: ignore[no-untyped-def]


class Odd:
    def __init__(
        self, dims: Dims, *, sizes: tuple[int, ...] = (1,), kind: Any = object
    ) -> None: ...


class Placement:
    def __init__(
        self, dims: Dims, attention: Any, feed_forward: Any, residual: Any, norm: Any
    ) -> None: ...


class Normal:
    def __init__(self, dims: Dims, *, std: Annotated[float, Gt(0)] = 0.02) -> None: ...


class Shapes: ...


class Flow:
    def __init__(self, *, batch: Annotated[int, Gt(0)] = 2) -> None: ...


class Training:
    def __init__(self, *, steps: int, learning_rate: float = 1e-3) -> None: ...


def component(kind: Kind, name: str, target: type | str) -> ComponentSpec:
    """A component of the distribution `ablations`."""
    home = Provenance(distribution="ablations", version="0.1")
    return ComponentSpec(kind=kind, name=name, target=target, provenance=home)


def measure(
    name: str, target: type, mode: Literal["static", "observing", "running"]
) -> MeasureSpec:
    """A measure of the distribution `ablations`."""
    return MeasureSpec(
        name=name,
        target=target,
        mode=mode,
        metrics=(Metric(name="value", unit="1", summary="A number."),),
        provenance=Provenance(distribution="ablations", version="0.1"),
    )


BUILTIN = PluginRecord(
    name="ablations:parts",
    version="0.1",
    state="loaded",
    specs=(
        component(Kind.NORM, "layernorm", LayerNorm),
        component(Kind.NORM, "rmsnorm", RMSNorm),
        component(Kind.NORM, "unannotated", Unannotated),
        component(Kind.NORM, "absent", "nowhere.at_all:Norm"),
        component(Kind.NORM, "odd", Odd),
        component(Kind.ACTIVATION, "gelu", Ungated),
        component(Kind.ACTIVATION, "silu", Silu),
        component(Kind.ACTIVATION, "swiglu", Gated),
        component(Kind.FEED_FORWARD, "mlp", Mlp),
        component(Kind.FEED_FORWARD, "own", OwnActivation),
        component(Kind.ATTENTION, "mha", Attention),
        component(Kind.ATTENTION, "gqa", Grouped),
        component(Kind.POSITION, "learned", Ungated),
        component(Kind.POSITION, "broken", Broken),
        component(Kind.RESIDUAL, "add", Ungated),
        component(Kind.PLACEMENT, "pre", Placement),
        component(Kind.PLACEMENT, "post", Placement),
        component(Kind.INITIALIZER, "normal", Normal),
        measure("parameters", Shapes, "static"),
        measure("gradient_flow", Flow, "observing"),
        measure("training", Training, "running"),
    ),
)


def parts(*others: PluginRecord) -> Catalog:
    """A fresh catalog of the parts above."""
    return Catalog([BUILTIN, *others])


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
    assert (architecture.head_bias, architecture.tie_embeddings) == (True, True)
    assert (architecture.residual_dropout, architecture.share_layers) == (0.2, 2)
    assert (architecture.vocab_size, architecture.d_ff_rule) == (11, "given")


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


@pytest.mark.parametrize(
    ("model", "width", "rule"),
    [
        ({"activation": "gelu"}, 1024, "4·d_model (ungated gelu)"),
        (
            {"activation": "swiglu"},
            688,
            "8/3·d_model rounded up to a multiple of 8 (gated swiglu)",
        ),
        (
            {"activation": "swiglu", "d_model": 768},
            2048,
            "8/3·d_model rounded up to a multiple of 8 (gated swiglu)",
        ),
        ({"d_ff": {"multiple_of_d_model": 3.5}}, 896, "3.5·d_model"),
        (
            {"d_ff": {"multiple_of_d_model": 2.6, "round_to": 64}},
            704,
            "2.6·d_model rounded up to a multiple of 64",
        ),
        ({"d_ff": {"multiple_of_d_model": 1.1}, "d_model": 20, "n_heads": 1}, 22, "1.1·d_model"),
    ],
)
def test_the_width_of_the_feed_forward(model: dict[str, Any], width: int, rule: str) -> None:
    architecture = resolve(model, parts())
    assert (architecture.layers[0].d_ff, architecture.d_ff_rule) == (width, rule)


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
            "option 'eps' of norm 'rmsnorm' must be number > 0, not x",
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


def test_a_part_that_breaks_its_contract_is_a_fault() -> None:
    home = "tests.ablations.test_resolution"
    assert [fault.message for fault in faults({"norm": "unannotated"})] == [
        f"option 'size' of {home}.Unannotated has no annotation"
    ]
    assert [fault.message for fault in faults({"norm": "absent"})] == [
        "nowhere.at_all:Norm cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"
    ]
    assert [fault.message for fault in faults({"norm": "odd"})] == [
        f"option 'kind' of {home}.Odd must be anything, but its default is <class 'object'>"
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


def test_canonical_json_keeps_text_and_numbers_apart() -> None:
    assert (
        canonical_json({"b": "1", "a": [1, 1.0, True, None]}) == '{"a":[1,1.0,true,null],"b":"1"}'
    )


def test_an_option_is_set_in_every_form_of_a_value() -> None:
    assert with_part("norm", "rmsnorm", "eps", 1) == {"rmsnorm": {"eps": 1}}
    assert with_part("norm", {"rmsnorm": {"eps": 2, "x": 3}}, "eps", 1) == {
        "rmsnorm": {"eps": 1, "x": 3}
    }
    assert with_part("norm", {"layers": ["a", {"b": {}}]}, "eps", 1) == {
        "layers": [{"a": {"eps": 1}}, {"b": {"eps": 1}}]
    }
    assert with_part("bias", False, "qkv", True) == {
        "qkv": True,
        "out": False,
        "feed_forward": False,
        "head": False,
    }
    assert with_part("dropout", {"residual": 0.5}, "attention", 0.1) == {
        "attention": 0.1,
        "residual": 0.5,
    }


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("norm", "rmsnorm", "rmsnorm"),
        ("norm", {"rmsnorm": {}}, "rmsnorm"),
        ("attention", {"gqa": {"n_kv_heads": 2, "scale": None}}, "gqa(n_kv_heads=2, scale=null)"),
        ("norm", {"layers": ["a", {"b": {"eps": 1e-5}}]}, "layers(a, b(eps=1e-05))"),
        ("embedding_norm", None, "null"),
        ("bias", True, "true"),
        ("bias", {"qkv": False, "head": True}, "head=true, qkv=false"),
        (
            "d_ff",
            {"multiple_of_d_model": 3.5, "round_to": 8},
            "multiple_of_d_model=3.5, round_to=8",
        ),
        ("d_ff", {"layers": [8, {"multiple_of_d_model": 2}]}, "layers(8, multiple_of_d_model=2)"),
        ("depth", 12, "12"),
        ("", 0.001, "0.001"),
        ("", "none", "none"),
        ("", "1", '"1"'),
        ("", "true", '"true"'),
        ("", "a, b=c", '"a, b=c"'),
        ("", "a\nb", '"a\\nb"'),
        ("", [1, "x"], "[1, x]"),
        ("", {"a": {"b": 1}}, "a={b=1}"),
        ("", {}, "{}"),
        ("", [], "[]"),
        ("", "", '""'),
    ],
)
def test_labels(key: str, value: object, expected: str) -> None:
    assert label(key, value) == expected


def test_settings_tell_every_value_and_where_it_comes_from() -> None:
    rows = settings(
        {"attention": {"gqa": {"n_kv_heads": 2}}, "bias": {"qkv": False}, "depth": 4},
        parts(),
        given={"attention", "bias", "bias.qkv", "depth"},
        factors={
            "norm": ["layernorm", {"rmsnorm": {"eps": 1e-6}}],
            "attention.n_kv_heads": [1, 2],
            "bias.out": [True, False],
        },
    )
    assert rows == (
        Setting("norm", "layernorm | rmsnorm(eps=1e-06)", "factor"),
        Setting("norm=layernorm.eps", "1e-05", "default"),
        Setting("norm=rmsnorm(eps=1e-06).eps", "1e-06", "given"),
        Setting("activation", "gelu", "default"),
        Setting("feed_forward", "mlp", "default"),
        Setting("attention", "gqa(n_kv_heads=2)", "given"),
        Setting("attention.n_kv_heads", "1 | 2", "factor"),
        Setting("attention.scale", "null", "default"),
        Setting("position", "learned", "default"),
        Setting("residual", "add", "default"),
        Setting("placement", "pre", "default"),
        Setting("initializer", "normal", "default"),
        Setting("initializer.std", "0.02", "default"),
        Setting("depth", "4", "given"),
        Setting("d_model", "256", "default"),
        Setting("n_heads", "4", "default"),
        Setting("context", "64", "default"),
        Setting("vocab_size", "256", "default"),
        Setting("head_dim", "d_model / n_heads", "default"),
        Setting("d_ff", "4·d_model, gated 8/3·d_model rounded up to a multiple of 8", "default"),
        Setting("bias.qkv", "false", "given"),
        Setting("bias.out", "true | false", "factor"),
        Setting("bias.feed_forward", "true", "default"),
        Setting("bias.head", "false", "default"),
        Setting("tie_embeddings", "false", "default"),
        Setting("final_norm", "auto", "default"),
        Setting("embedding_norm", "null", "default"),
        Setting("embedding_scale", "1.0", "default"),
        Setting("dropout.attention", "0.0", "default"),
        Setting("dropout.residual", "0.0", "default"),
        Setting("share_layers", "1", "default"),
    )


def test_settings_of_layers_and_of_a_varied_whole_with_a_varied_part() -> None:
    rows = settings(
        {"attention": {"layers": ["mha", {"mha": {"window": 8}}]}},
        parts(),
        factors={"bias": [True, False], "bias.head": [True, False]},
    )
    found = {row.key: (row.value, row.origin) for row in rows}
    assert found["attention"] == ("layers(mha, mha(window=8))", "default")
    assert found["attention[0].window"] == ("null", "default")
    assert found["attention[1].window"] == ("8", "given")
    assert found["bias"] == found["bias.head"] == ("true | false", "factor")
