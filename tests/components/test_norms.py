from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from registry import Incompatible, ParameterRole
from tests.components.makers import build, dims, randomize, tokens

# Half precision may lose what rounding the result loses, nothing more.
DTYPES = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 1.01 * 2**-8,
    torch.float16: 1.01 * 2**-11,
}


def by_hand(name: str, x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """The formula, feature by feature, in Python's own floats."""
    rows = []
    for row in x.double().reshape(-1, x.shape[-1]).tolist():
        mean = sum(row) / len(row) if name == "layernorm" else 0.0
        size = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + eps)
        rows.append([(value - mean) / size for value in row])
    y = torch.tensor(rows, dtype=torch.float64).reshape(x.shape) * weight.double()
    return y if bias is None else y + bias.double()


def norm(name: str, **options: Any) -> Any:
    return randomize(build("norm", (name, options), dims()))


@pytest.mark.parametrize("eps", [1e-5, 0.1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
def test_a_norm_equals_its_formula(name: str, bias: bool, eps: float) -> None:
    module = norm(name, bias=bias, eps=eps)
    x = 3 * tokens(2, 5, 16) + 1
    expected = by_hand(name, x, module.weight, module.bias, eps)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


def test_layernorm_equals_torch() -> None:
    module = norm("layernorm")
    x = tokens(2, 5, 16)
    expected = F.layer_norm(x, (16,), module.weight, module.bias, 1e-5)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("keeps_weights", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
def test_a_norm_keeps_shape_and_dtype(name: str, dtype: torch.dtype, keeps_weights: bool) -> None:
    module = norm(name, bias=True).float()
    if not keeps_weights:
        module = module.to(dtype)
    x = tokens(2, 5, 16, dtype=dtype)
    y = module(x)
    assert y.shape == x.shape
    assert y.dtype == dtype
    expected = by_hand(name, x, module.weight, module.bias, 1e-5)
    torch.testing.assert_close(y.double(), expected, rtol=DTYPES[dtype], atol=1e-6)


@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
def test_statistics_of_half_precision_do_not_overflow(name: str) -> None:
    x = tokens(1, 3, 16, dtype=torch.float16) * 1e4
    y = build("norm", name).half()(x)
    assert x.square().isinf().any()
    torch.testing.assert_close(
        y.double(),
        by_hand(name, x, torch.ones(16), None, 1e-5),
        rtol=2e-3,
        atol=2e-3,
    )


@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
def test_each_token_is_normed_alone(name: str) -> None:
    module = norm(name)
    x = tokens(2, 5, 16)
    together = module(x)
    for batch in range(2):
        for token in range(5):
            alone = module(x[batch : batch + 1, token : token + 1])
            torch.testing.assert_close(alone[0, 0], together[batch, token], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"weight": True, "bias": True}, {"weight", "bias"}),
        ({"weight": True, "bias": False}, {"weight"}),
        ({"weight": False, "bias": True}, {"bias"}),
        ({"weight": False, "bias": False}, set()),
    ],
)
@pytest.mark.parametrize("name", ["layernorm", "rmsnorm"])
def test_weight_and_bias_are_options(name: str, options: dict[str, bool], names: set[str]) -> None:
    module = build("norm", (name, options))
    assert {found for found, _ in module.named_parameters()} == names
    roles = {"weight": ParameterRole(role="norm"), "bias": ParameterRole(role="bias")}
    assert module.parameter_roles() == {found: roles[found] for found in names}
    expected = by_hand(name, tokens(2, 3, 16), torch.ones(16), None, 1e-5)
    torch.testing.assert_close(module.double()(tokens(2, 3, 16)), expected, rtol=0, atol=1e-12)


def test_only_layernorm_has_a_bias_by_default() -> None:
    assert build("norm", "layernorm").bias is not None
    assert build("norm", "rmsnorm").bias is None


@pytest.mark.parametrize("bias", [True, False])
def test_a_unit_offset_is_added_to_the_weight(bias: bool) -> None:
    module = norm("rmsnorm", unit_offset=True, bias=bias)
    x = 3 * tokens(2, 5, 16) + 1
    expected = by_hand("rmsnorm", x, 1 + module.weight, module.bias, 1e-5)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-12)


def test_a_unit_offset_starts_where_a_norm_without_it_does() -> None:
    module = build("norm", ("rmsnorm", {"unit_offset": True}))
    assert not module.weight.any()
    assert module.parameter_roles() == {"weight": ParameterRole(role="norm")}
    x = tokens(2, 5, 16)
    assert torch.equal(module.double()(x), build("norm", "rmsnorm").double()(x))


def test_a_unit_offset_needs_a_weight() -> None:
    with pytest.raises(Incompatible) as caught:
        build("norm", ("rmsnorm", {"unit_offset": True, "weight": False}))
    assert str(caught.value) == "unit_offset has no effect: the norm has no weight"


def test_none_is_the_identity() -> None:
    x = tokens(2, 5, 16)
    assert torch.equal(build("norm", "none")(x), x)
