from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from tests.registry.conformance.finding import Fault, found, outcome


class Plain(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.scale = torch.full((dims.d_model,), 0.5)


class Constant(Plain):
    """Keeps a tensor that `to` does not find, so that its output is float32 whatever comes."""

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Registered(Plain):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        del self.scale
        self.register_buffer("scale", torch.full((dims.d_model,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


class Limited(Plain):
    """Holds a table of 50 tokens, fewer than the context."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(50, 1)[: x.shape[1]].to(x.dtype)


class Transposed(Plain):
    def forward(self, x: Tensor) -> Tensor:
        return x.mT


class Cut(Plain):
    def forward(self, x: Tensor) -> Tensor:
        return x[..., :-1]


class Biased(nn.Module):
    """A position whose bias has no floating point dtype."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        return (q_positions[:, None] - k_positions[None, :]).expand(n_heads, -1, -1)


class OverTwo(nn.Module):
    """An activation that counts dimensions from the front."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x * x.softmax(dim=2)


class OverMiddle(OverTwo):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.ndim == 4 else x * x.softmax(dim=-1)


CAST = (
    "cast the result to the dtype of the input, or register tensors that are no parameters as "
    "buffers"
)
FAULTS = [
    Fault(
        kind="norm",
        check="dtype",
        cls=Constant,
        message=f"output: expected bfloat16 for bfloat16, got float32: {CAST}",
    ),
    Fault(
        kind="position",
        check="dtype",
        cls=Biased,
        message=f"output: expected float32 for float32, got int64 in bias: {CAST}",
    ),
    Fault(
        kind="norm",
        check="shape",
        cls=Limited,
        message="add: (B, T, D) and (50, 1) do not broadcast (at `return x + "
        "torch.zeros(50, 1)[: x.shape[1]].to(x.dtype)`) at T = 130",
    ),
    Fault(
        kind="norm",
        check="shape",
        cls=Transposed,
        message="output: expected (B, T, D), got (B, D, T)",
    ),
    Fault(
        kind="norm",
        check="shape",
        cls=Cut,
        message="output: expected (B, T, D) = (5, 7, 60), got (B, T, 59)",
    ),
    Fault(
        kind="activation",
        check="leading_dimensions",
        cls=OverTwo,
        message="(B·T, F) is not taken as (B, T, F) is: act on the last dimension alone",
    ),
    Fault(
        kind="activation",
        check="leading_dimensions",
        cls=OverMiddle,
        message="(B, 1, T, F) gives other values than (B, T, F): act on the last dimension alone",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_registered_tensor_follows_the_dtype() -> None:
    assert outcome("norm", Registered, "dtype") == "passed"
    assert outcome("norm", Registered, "shape") == "passed"


def test_a_bias_may_have_a_floating_point_dtype_of_its_own() -> None:
    assert outcome("position", "components.positions:ALiBi", "dtype") == "passed"


@pytest.mark.parametrize("name", ["SiLU", "SwiGLU"])
def test_an_activation_takes_any_leading_dimensions(name: Any) -> None:
    assert outcome("activation", f"components.activations:{name}", "leading_dimensions") == "passed"
