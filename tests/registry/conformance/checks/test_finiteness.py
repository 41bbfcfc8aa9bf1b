from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from tests.registry.conformance.finding import Fault, found, outcome


class Norm(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.d_model))


class Exponential(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x.exp() * self.weight


class Root(Norm):
    """Finite at zero, with a gradient that is not."""

    def forward(self, x: Tensor) -> Tensor:
        return x.square().sum(-1, keepdim=True).sqrt() * self.weight + x


class Quotient(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x / x.square().mean(-1, keepdim=True) * self.weight


class WeightRoot(Norm):
    """Finite everywhere but in the gradient by its weight."""

    def forward(self, x: Tensor) -> Tensor:
        return x + (self.weight * 0).square().sum().sqrt()


class Rounding(Norm):
    """A LayerNorm that computes its statistics in the dtype that comes."""

    def forward(self, x: Tensor) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.weight


class Overflowing(Norm):
    """A root mean square of float16 numbers whose squares float16 does not hold."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype == torch.bfloat16:
            return self.forward(x.double()).bfloat16()
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.weight


class WithoutHalf(Norm):
    refused = torch.float16

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype == self.refused:
            raise RuntimeError("not implemented for 'Half'")
        return x * self.weight


class WithoutBrainHalf(WithoutHalf):
    refused = torch.bfloat16


ADVICE = "keep roots, logarithms and quotients away from 0, and exponents from overflow"
STATISTICS = "compute statistics in float32"


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm("finite", Exponential, f"the output is not finite for inputs of size 1000: {ADVICE}"),
    norm(
        "finite",
        Root,
        f"the gradient by the input for inputs all zero is not finite: {ADVICE}",
    ),
    norm("finite", Quotient, f"the output is not finite for inputs all zero: {ADVICE}"),
    norm(
        "finite",
        WeightRoot,
        f"the gradient by 'weight' for inputs all zero is not finite: {ADVICE}",
    ),
    norm(
        "precision",
        Rounding,
        "in bfloat16, at a mean of 100 and a standard deviation of 1, the output is off by more "
        f"than rounding: {STATISTICS}",
    ),
    norm(
        "precision",
        Overflowing,
        "in float16, at a mean of 0 and a standard deviation of 1000, the output is off by more "
        f"than rounding: {STATISTICS}",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm", "NoNorm"])
def test_a_norm_that_computes_in_float32_loses_no_more_than_rounding(name: str) -> None:
    for check in ("finite", "precision"):
        assert outcome("norm", f"components.norms:{name}", check) == "passed"


def test_a_norm_need_not_take_float16() -> None:
    assert outcome("norm", WithoutHalf, "precision") == "passed"
    assert outcome("norm", WithoutBrainHalf, "precision") == "failed"
