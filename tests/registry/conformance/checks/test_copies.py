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

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class DrawnAttribute(Norm):
    """Keeps random numbers that the state does not hold."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.drawn = torch.randn(dims.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drawn


class DrawnBuffer(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.register_buffer("drawn", torch.randn(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.drawn


class GrowingBuffer(Norm):
    def forward(self, x: Tensor) -> Tensor:
        self.register_buffer("seen", x.detach().clone())
        return x


class Function(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.function = lambda x: 2 * x

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.function(x)
        return y


class Hoarding(Norm):
    """Keeps its last output, with the graph behind it."""

    def forward(self, x: Tensor) -> Tensor:
        self.last = x * self.weight
        return self.last


class Forgetting(Norm):
    """Leaves out of a copy what its output depends on."""

    factor = 1.0

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.factor = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor

    def __getstate__(self) -> Any:
        return {key: value for key, value in vars(self).items() if key != "factor"}


ATTRIBUTES = (
    "keep neither functions nor tensors of a pass in attributes, and define the class at module "
    "level"
)


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm(
        "state_dict",
        DrawnAttribute,
        "a fresh one with the state_dict of another gives other outputs: register what it keeps as "
        "a parameter or buffer",
    ),
    norm(
        "state_dict",
        GrowingBuffer,
        "a fresh one cannot load state_dict: RuntimeError: Error(s) in loading state_dict for "
        'GrowingBuffer: Unexpected key(s) in state_dict: "seen".: build the same parameters and '
        "buffers each time",
    ),
    norm(
        "copies",
        Function,
        "a pickled copy cannot be made: AttributeError: Can't pickle local object "
        f"'Function.__init__.<locals>.<lambda>': {ATTRIBUTES}",
    ),
    norm("copies", Forgetting, "a deep copy gives other outputs"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_tensor_of_a_pass_cannot_be_copied() -> None:
    fault = norm("copies", Hoarding, "")
    state, message = found(fault)
    assert state == "failed"
    assert message.startswith(
        "a deep copy cannot be made: RuntimeError: Only Tensors created explicitly by the user"
    )
    assert message.endswith(ATTRIBUTES)


@pytest.mark.parametrize("check", ["state_dict", "copies"])
@pytest.mark.parametrize("cls", [Norm, DrawnBuffer])
def test_what_the_state_holds_may_be_drawn(cls: Any, check: str) -> None:
    assert outcome("norm", cls, check) == "passed"
