from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from registry import ParameterRole
from tests.components.makers import DEFAULTS, build, dims, randomize, tokens


def mlp(activation: str, bias: bool = True) -> Any:
    sizes = dims(feed_forward_bias=bias)
    return randomize(build("feed_forward", "mlp", sizes, {**DEFAULTS, "activation": activation}))


def affine(parameters: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    y = torch.einsum("btd,fd->btf", x, parameters[f"{name}.weight"])
    return y + parameters[f"{name}.bias"] if f"{name}.bias" in parameters else y


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("gated", [True, False])
def test_mlp_equals_its_formula(gated: bool, bias: bool) -> None:
    module = mlp("geglu" if gated else "gelu", bias)
    p = module.state_dict()
    x = tokens(2, 5, 16)

    def gelu(x: Tensor) -> Tensor:
        return x * (1 + torch.erf(x / math.sqrt(2))) / 2

    up = affine(p, "up", x)
    hidden = gelu(affine(p, "gate", x)) * up if gated else gelu(up)
    assert hidden.shape == (2, 5, 20)
    torch.testing.assert_close(module(x), affine(p, "down", hidden), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("activation", "bias", "count"),
    [
        ("gelu", True, 2 * 16 * 20 + 20 + 16),
        ("gelu", False, 2 * 16 * 20),
        ("swiglu", True, 3 * 16 * 20 + 2 * 20 + 16),
        ("swiglu", False, 3 * 16 * 20),
    ],
)
def test_mlp_has_two_projections_or_three(activation: str, bias: bool, count: int) -> None:
    assert sum(p.numel() for p in mlp(activation, bias).parameters()) == count


def test_biases_start_at_zero() -> None:
    module = build("feed_forward", "mlp", dims(), {**DEFAULTS, "activation": "swiglu"})
    assert not any(getattr(module, name).bias.any() for name in ("gate", "up", "down"))


def test_roles_name_every_parameter() -> None:
    bias = ParameterRole(role="bias")
    plain = {
        "up.weight": ParameterRole(role="up"),
        "up.bias": bias,
        "down.weight": ParameterRole(role="down"),
        "down.bias": bias,
    }
    gate = {"gate.weight": ParameterRole(role="gate"), "gate.bias": bias}
    assert mlp("gelu").parameter_roles() == plain
    assert mlp("swiglu").parameter_roles() == {**plain, **gate}
    for activation in ("gelu", "swiglu"):
        module = mlp(activation, bias=False)
        names = {name for name, _ in module.named_parameters()}
        assert set(module.parameter_roles()) == names
