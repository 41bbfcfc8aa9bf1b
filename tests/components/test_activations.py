from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from tests.components.makers import build, specs, tokens


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x: float) -> float:
    return x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


PLAIN: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "relu_squared": lambda x: max(x, 0.0) ** 2,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": lambda x: x * sigmoid(x),
}
GATED: dict[str, Callable[[float], float]] = {
    "swiglu": lambda x: x * sigmoid(x),
    "geglu": gelu,
    "geglu_tanh": gelu_tanh,
    "reglu": lambda x: max(x, 0.0),
    "glu": sigmoid,
}
POINTS = [-6.0, -2.5, -1.0, -0.3, 0.0, 1e-3, 0.7, 1.0, 2.0, 5.5]


def test_every_activation_is_covered() -> None:
    names = {spec.name for spec in specs() if spec.kind == "activation"}
    assert names == {*PLAIN, *GATED}


@pytest.mark.parametrize("name", PLAIN)
def test_an_activation_equals_its_formula(name: str) -> None:
    module = build("activation", name)
    x = torch.tensor([[POINTS]], dtype=torch.float64)
    expected = torch.tensor([[[PLAIN[name](point) for point in POINTS]]], dtype=torch.float64)
    assert module.gated is False
    torch.testing.assert_close(module(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GATED)
def test_a_gated_activation_gates_its_second_argument(name: str) -> None:
    module = build("activation", name)
    gate = torch.tensor([[POINTS]], dtype=torch.float64)
    up = tokens(1, 1, len(POINTS))
    factors = torch.tensor([[[GATED[name](point) for point in POINTS]]], dtype=torch.float64)
    assert module.gated is True
    torch.testing.assert_close(module(gate, up), factors * up, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [*PLAIN, *GATED])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_an_activation_keeps_dtype_and_has_no_parameters(name: str, dtype: torch.dtype) -> None:
    module = build("activation", name)
    x = tokens(2, 3, 8, dtype=dtype)
    y = module(x, x) if module.gated else module(x)
    assert (y.dtype, y.shape) == (dtype, x.shape)
    assert not module.state_dict()
