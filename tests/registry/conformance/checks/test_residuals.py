from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor, nn

from registry import Dims
from tests.registry.conformance.finding import Fault, found, outcome


class Residual(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update


class Streaming(Residual):
    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return 2 * x


class Dropping(Residual):
    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return update


class Cut(Residual):
    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return (x + update).detach()


def residual(cls: Any, message: str) -> Fault:
    return Fault(kind="residual", check="uses_both", cls=cls, message=message)


FAULTS = [
    residual(Streaming, "the output does not depend on the update: use x and update"),
    residual(Dropping, "the output does not depend on the stream: use x and update"),
    residual(Cut, "the output depends neither on the stream nor on the update"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_sum_uses_both() -> None:
    assert outcome("residual", Residual, "uses_both") == "passed"
