from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from registry import Dims, Incompatible
from registry.conformance.running import Suite
from tests.registry.conformance.capable import Capable
from tests.registry.conformance.finding import Fault, found, outcome


class Norm(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.d_model))
        self.factor = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight * self.factor


class Ignoring(Norm):
    def __init__(self, dims: Dims, *, eps: float = 1e-5) -> None:
        super().__init__(dims)


class IgnoringFlag(Norm):
    def __init__(self, dims: Dims, *, bias: bool = True) -> None:
        super().__init__(dims)


class Honouring(Norm):
    def __init__(self, dims: Dims, *, factor: float = 1.0) -> None:
        super().__init__(dims)
        self.factor = factor


class HonouringInState(Norm):
    """The option is an initial value alone."""

    def __init__(self, dims: Dims, *, start: float = 1.0) -> None:
        super().__init__(dims)
        nn.init.constant_(self.weight, start)


class HonouringInTraining(Norm):
    def __init__(self, dims: Dims, *, p: float = 0.1) -> None:
        super().__init__(dims)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(super().forward(x), min(max(self.p, 0), 1), self.training)


class _Faded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return gradients[0] * ctx.factor, None


class HonouringInGradients(Honouring):
    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = _Faded.apply(x, self.factor)  # type: ignore[no-untyped-call]
        return y * self.weight


class Depending(Norm):
    """One option matters only beside another."""

    def __init__(
        self, dims: Dims, *, form: Literal["plain", "scaled"] = "plain", factor: float = 3.0
    ) -> None:
        super().__init__(dims)
        self.factor = factor if form == "scaled" else 1.0


class Single(Norm):
    """Takes one value of its option, and text of which nobody knows another."""

    def __init__(self, dims: Dims, *, groups: int = 1, name: str = "a") -> None:
        super().__init__(dims)
        if groups != 1:
            raise Incompatible("groups must be 1")


class SingleOfTwo(Single):
    def __init__(self, dims: Dims, *, groups: int = 1, factor: float = 1.0) -> None:
        super().__init__(dims, groups=groups)
        self.factor = factor


class CacheOption(Capable):
    """What an option does shows in the cache alone."""

    def __init__(self, dims: Dims, *, doubled: bool = False) -> None:
        super().__init__(dims)
        self.doubled = doubled

    def new_cache(self) -> Any:
        held = super().new_cache()
        if self.doubled:
            held.kv = [torch.zeros(1, self.h, 0, self.c) for _ in range(2)]
            return _Doubled(held)
        return held


class _Doubled:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __getattr__(self, name: str) -> Any:
        return getattr(self.held, name)

    @property
    def nbytes(self) -> int:
        return 2 * int(self.held.nbytes)


class Placement(nn.Module):
    """What its options do shows in what it says alone."""

    def __init__(self, dims: Dims, attention: Any, *, ends: bool = True, gain: float = 1.0) -> None:
        super().__init__()
        self.attention = attention()
        self.final_norm = ends
        self.gain = gain

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = self.attention(x, **mixing)
        return y

    def init_gain(self, role: str) -> float:
        return self.gain


class Constant:
    def __init__(self, dims: Dims, *, std: float = 0.02) -> None: ...

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        tensor.fill_(0.02)


FAULTS = [
    Fault(
        kind="norm",
        check="options",
        cls=Ignoring,
        message="option 'eps' changes nothing when it is 2e-05 or 5e-06 or 0.10001 instead of "
        "1e-05: use it, or remove it",
    ),
    Fault(
        kind="norm",
        check="options",
        cls=IgnoringFlag,
        message="option 'bias' changes nothing when it is false instead of true: use it, or remove "
        "it",
    ),
    Fault(
        kind="initializer",
        check="options",
        cls=Constant,
        message="option 'std' changes nothing when it is 0.04 or 0.01 or 0.12000000000000001 "
        "instead of 0.02: use it, or remove it",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("norm", Honouring),
        ("norm", HonouringInState),
        ("norm", HonouringInTraining),
        ("norm", HonouringInGradients),
        ("norm", Depending),
        ("attention", CacheOption),
        ("placement", Placement),
    ],
)
def test_an_option_may_act_in_any_way_that_can_be_seen(kind: str, cls: Any) -> None:
    assert outcome(kind, cls, "options") == "passed"


def test_what_cannot_be_changed_is_said() -> None:
    result = Suite("norm", Single).result("options")
    message = "no other value can be built of 'groups', 'name'"
    assert (result.outcome, result.message) == ("not applicable", message)
    result = Suite("norm", SingleOfTwo).result("options")
    message = "no other value can be built of 'groups'"
    assert (result.outcome, result.message) == ("passed", message)


def test_without_options_there_is_nothing_to_change() -> None:
    assert outcome("norm", Norm, "options") == "not applicable"
