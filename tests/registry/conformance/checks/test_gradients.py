from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Dims, ParameterRole
from tests.registry.conformance import attentions
from tests.registry.conformance.finding import Fault, found, outcome


class Norm(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.d_model))
        self.bias = nn.Parameter(torch.zeros(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.bias


class Unused(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Declared(Unused):
    def parameter_roles(self) -> Any:
        return {"bias": ParameterRole(role="bias", gradient=False)}


class DetachedParameter(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight.detach() + self.bias


class HalfUsed(Norm):
    def forward(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return torch.cat((x[..., :half], x[..., half:] * self.weight[half:]), -1) + self.bias

    def parameter_roles(self) -> Any:
        half = len(self.weight) // 2
        return {
            "weight": [
                ParameterRole(role="low", rows=(0, half)),
                ParameterRole(role="high", rows=(half, 2 * half)),
            ]
        }


class KeyBias(attentions.Careful):
    """Has a key bias and no positions that would make it matter."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.k = nn.Linear(dims.d_model, self.h * self.c)


class KeyBiasRotated(KeyBias):
    position_hooks = True

    def forward(self, x: Tensor, *, position: Any = None) -> Tensor:
        q, k, v = (self.split(part(x)) for part in (self.q, self.k, self.v))
        rotate, bias = (getattr(position, hook, None) for hook in ("rotate", "bias"))
        places = torch.arange(x.shape[1])
        if rotate is not None:
            q, k = rotate(q, k, places)
        scores = self.compare(q, k) / self.c**0.5
        if bias is not None:
            scores = scores + bias(self.h, places, places).to(x.dtype)
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        y: Tensor = self.out(self.merge(self.hide(scores, hidden).softmax(-1) @ v))
        return y


class DetachedStatistics(Norm):
    """A norm whose gradient leaves its statistics out."""

    def forward(self, x: Tensor) -> Tensor:
        size = x.square().mean(-1, keepdim=True).sqrt().detach()
        return x / (size + 1) * self.weight + self.bias


class _Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0] / 2


class WrongBackward(Norm):
    def forward(self, x: Tensor) -> Tensor:
        bias: Tensor = _Half.apply(self.bias)  # type: ignore[no-untyped-call]
        return x * self.weight + bias


class Cut(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).detach()


class Edged(Norm):
    """Has edges, at which no derivative is."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x).round(decimals=1).detach() * 0 + F.relu(x) * self.weight + self.bias


USE = "use it, remove it, or say so in parameter_roles, ParameterRole(..., gradient=False)"
WRONG = "as central differences show: a path is detached, or a backward of its own is wrong"


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm("parameter_gradients", Unused, f"parameter 'bias' receives no gradient: {USE}"),
    norm(
        "parameter_gradients", DetachedParameter, f"parameter 'weight' receives no gradient: {USE}"
    ),
    norm(
        "parameter_gradients",
        HalfUsed,
        f"parameter 'weight' (rows of role 'low') receives no gradient: {USE}",
    ),
    norm("parameter_gradients", Cut, f"parameter 'weight' receives no gradient: {USE}"),
    Fault(
        kind="attention",
        check="parameter_gradients",
        cls=KeyBias,
        message=f"parameter 'k.bias' receives no gradient: {USE}",
    ),
    norm("derivative", DetachedStatistics, f"autograd is wrong by the input, {WRONG}"),
    norm("derivative", WrongBackward, f"autograd is wrong by 'bias', {WRONG}"),
    norm(
        "derivative",
        Cut,
        f"autograd is wrong by the input and 'weight' and 'bias', {WRONG}",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_parameter_that_is_declared_to_receive_none_may_receive_none() -> None:
    assert outcome("norm", Declared, "parameter_gradients") == "passed"


def test_a_key_bias_is_tried_with_a_rotating_position() -> None:
    assert outcome("attention", KeyBiasRotated, "parameter_gradients") == "passed"


@pytest.mark.parametrize("check", ["parameter_gradients", "derivative"])
@pytest.mark.parametrize("cls", [Norm, Edged])
def test_edges_are_no_fault(cls: Any, check: str) -> None:
    assert outcome("norm", cls, check) == "passed"


def test_there_may_be_nothing_to_differentiate_by() -> None:
    assert outcome("norm", "components.norms:NoNorm", "parameter_gradients") == "not applicable"
    assert outcome("position", "components.positions:ALiBi", "derivative") == "not applicable"
