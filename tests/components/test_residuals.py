from __future__ import annotations

from typing import Any

import pytest
import torch

from registry import ParameterRole
from tests.components.makers import build, tokens

X, UPDATE = tokens(2, 3, 16, seed=1), tokens(2, 3, 16, seed=2)


@pytest.mark.parametrize(
    ("name", "options", "kept", "factor"),
    [
        ("add", {}, 1, 1),
        ("scaled", {}, 1, 0.1),
        ("scaled", {"value": 0.25}, 1, 0.25),
        ("scaled", {"value": 0.25, "per_channel": True}, 1, 0.25),
        ("scaled", {"value": 2, "per_channel": True}, 1, 2),
        ("gated", {}, 1, 0),
        ("gated", {"initial": 0.5}, 1, 0.5),
        ("gated", {"initial": 1}, 1, 1),
        ("none", {}, 0, 1),
    ],
)
def test_a_residual_starts_as_its_formula(
    name: str, options: dict[str, Any], kept: float, factor: float
) -> None:
    module = build("residual", (name, options)).double()
    expected = kept * X + factor * UPDATE
    torch.testing.assert_close(module(X, UPDATE), expected, rtol=0, atol=1e-7)


def test_a_learned_scale_acts_on_each_channel() -> None:
    module = build("residual", ("scaled", {"per_channel": True})).double()
    with torch.no_grad():
        module.weight.copy_(torch.arange(16))
    y = module(X, UPDATE)
    for channel in range(16):
        expected = X[..., channel] + channel * UPDATE[..., channel]
        torch.testing.assert_close(y[..., channel], expected)


@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [("scaled", {"per_channel": True}, (16,)), ("gated", {}, ())],
)
def test_a_learned_scale_is_trained(
    name: str, options: dict[str, Any], shape: tuple[int, ...]
) -> None:
    module = build("residual", (name, options)).double()
    assert module.parameter_roles() == {"weight": ParameterRole(role="residual_scale")}
    assert module.weight.shape == shape
    module(X, UPDATE).sum().backward()
    expected = UPDATE.sum((0, 1)) if shape else UPDATE.sum()
    torch.testing.assert_close(module.weight.grad, expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [("add", {}), ("scaled", {}), ("scaled", {"per_channel": True}), ("gated", {}), ("none", {})],
)
def test_a_residual_keeps_half_precision(name: str, options: dict[str, Any]) -> None:
    module = build("residual", (name, options)).bfloat16()
    assert module(X.bfloat16(), UPDATE.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["add", "scaled", "none"])
def test_a_residual_without_learning_has_no_parameters(name: str) -> None:
    assert not build("residual", name).state_dict()
