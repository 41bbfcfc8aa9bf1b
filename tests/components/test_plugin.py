from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

import components
from registry import Dims, Kind, ParameterInfo
from tests.components.makers import (
    DEFAULTS,
    Choice,
    build,
    catalog,
    dims,
    embedded,
    randomize,
    specs,
    tokens,
)

NAMES = {
    "norm": {"layernorm", "rmsnorm", "none"},
    "activation": {
        "relu",
        "relu_squared",
        "gelu",
        "gelu_tanh",
        "silu",
        "swiglu",
        "geglu",
        "geglu_tanh",
        "reglu",
        "glu",
    },
    "feed_forward": {"mlp"},
    "attention": {"mha", "gqa", "mqa"},
    "position": {"none", "learned", "sinusoidal", "rope", "alibi"},
    "residual": {"add", "scaled", "gated", "none"},
    "placement": {"pre", "post", "sandwich", "post_sublayer", "parallel", "deepnorm"},
    "initializer": {"normal", "gpt2", "xavier", "kaiming_uniform"},
}

_ATTENTION: dict[str, list[Any]] = {
    "qk_norm": ["per_head", "full_width"],
    "scale": ["none", 0.5],
    "softcap": [0.5],
    "window": [3],
    "causal": [False],
    "qkv": ["separate"],
}
_NORM: dict[str, list[Any]] = {"eps": [0.1], "weight": [False]}
CHANGES: dict[tuple[str, str], dict[str, list[Any]]] = {
    ("norm", "layernorm"): {**_NORM, "bias": [False]},
    ("norm", "rmsnorm"): {**_NORM, "bias": [True], "unit_offset": [True]},
    ("attention", "mha"): _ATTENTION,
    ("attention", "gqa"): {**_ATTENTION, "n_kv_heads": [1, 4]},
    ("attention", "mqa"): _ATTENTION,
    ("position", "learned"): {"offset": [2]},
    ("position", "sinusoidal"): {"amplitude": [0.1], "layout": ["halves"], "offset": [2]},
    ("position", "rope"): {
        "theta": [100.0],
        "fraction": [0.5],
        "style": ["pairs"],
        "stretch": [[4.0, 20]],
    },
    ("position", "alibi"): {"scaled": [True]},
    ("residual", "scaled"): {"value": [0.5], "per_channel": [True]},
    ("residual", "gated"): {"initial": [0.5]},
    ("placement", "parallel"): {"norms": [2]},
    ("initializer", "normal"): {"std": [0.1], "embedding_std": [0.1]},
    ("initializer", "gpt2"): {"std": [0.1], "embedding_std": [0.1]},
    ("initializer", "xavier"): {"distribution": ["uniform"], "embedding_std": [0.1]},
    ("initializer", "kaiming_uniform"): {"embedding_std": [0.1]},
}
"""Other values of every option of every component; the defaults and `n_kv_heads=2` beside them."""


def test_every_component_is_registered() -> None:
    found = {kind.value: {spec.name for spec in specs() if spec.kind == kind} for kind in Kind}
    assert found == NAMES


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: f"{spec.kind}-{spec.name}")
def test_a_target_is_public_and_documented(spec: Any) -> None:
    cls = catalog().choose(spec, {"n_kv_heads": 2} if spec.name == "gqa" else {}).load()
    assert getattr(components, cls.__name__) is cls
    assert spec.source in cls.__doc__
    assert "aper: " in cls.__doc__
    assert spec.summary


def test_the_changes_cover_every_option() -> None:
    found = catalog()
    options = {
        (str(spec.kind), spec.name): {option.name for option in found.options(spec)}
        for spec in found.components()
    }
    assert {key: names for key, names in options.items() if names} == {
        key: set(changes) for key, changes in CHANGES.items()
    }


def fingerprint(kind: str, choice: Choice) -> list[Tensor]:
    """What a component computes: initial values of each role, or a block's output and shapes."""
    if kind == "initializer":
        return [filled(choice, role) for role in ("up", "token_embedding")]
    parts = {**DEFAULTS, "norm": "rmsnorm", kind: choice}
    module = build("placement", parts["placement"], dims(), parts)
    position = randomize(build("position", parts["position"]))
    own = {name: p.clone() for name, p in module.state_dict().items() if "residual" in name}
    module = randomize(module)
    module.load_state_dict(own, strict=False)  # a residual's options are its initial values
    x = embedded(position.double(), tokens(2, 9, 16))
    counts = torch.tensor([p.numel() for p in module.parameters()])
    return [module.double().eval()(x, position=position), counts]


def filled(choice: Choice, role: str) -> Tensor:
    info = ParameterInfo(path="w", role=role, shape=(8, 6), fan_in=6, fan_out=8, depth=12, layer=0)
    tensor = torch.empty(8, 6)
    build("initializer", choice).fill(tensor, info, torch.Generator().manual_seed(0))
    return tensor


@pytest.mark.parametrize(
    ("kind", "name", "option", "value"),
    [
        pytest.param(kind, name, option, value, id=f"{name}-{option}-{value}")
        for (kind, name), changes in CHANGES.items()
        for option, values in changes.items()
        for value in values
    ],
)
def test_an_option_has_an_effect(kind: str, name: str, option: str, value: Any) -> None:
    given = {"n_kv_heads": 2} if name == "gqa" else {}
    default = fingerprint(kind, (name, given))
    again = fingerprint(kind, (name, given))
    changed = fingerprint(kind, (name, {**given, option: value}))
    assert all(map(torch.equal, default, again))
    assert not all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(default, changed, strict=True)
    )


@pytest.mark.parametrize("flag", ["qkv_bias", "out_bias", "feed_forward_bias"])
def test_a_bias_flag_removes_biases_alone(flag: str) -> None:
    def names(sizes: Dims) -> set[str]:
        return {name for name, _ in build("placement", "pre", sizes).named_parameters()}

    removed = names(dims()) - names(dims(**{flag: False}))
    assert (
        removed
        == {
            "qkv_bias": {"attention.qkv.bias"},
            "out_bias": {"attention.out.bias"},
            "feed_forward_bias": {"feed_forward.up.bias", "feed_forward.down.bias"},
        }[flag]
    )


def loaded(statement: str) -> bool:
    """Whether torch is loaded after that statement in a fresh interpreter."""
    code = f"import sys; {statement}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_registering_does_not_import_torch() -> None:
    assert not loaded("import components.plugin as p; p.register_components()")
    assert not loaded("import components; components.ABLATIONS_PACKAGE")
    assert loaded("import components; components.LayerNorm")


def test_the_public_names_are_those_listed() -> None:
    assert components.ABLATIONS_PACKAGE == "ablations"
    assert dir(components) == sorted(components.__all__)
    for name in set(components.__all__) - {"ABLATIONS_PACKAGE"}:
        assert getattr(components, name).__module__.startswith("components.")
    with pytest.raises(AttributeError, match="module 'components' has no attribute 'LayerNrom'"):
        _ = components.LayerNrom
