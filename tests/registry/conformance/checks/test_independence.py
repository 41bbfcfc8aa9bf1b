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
        self.norm = nn.BatchNorm1d(dims.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class BatchNorm(Norm):
    """Mixes the batch while it trains; in evaluation it goes by running statistics."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.norm(x.flatten(0, 1)).view_as(x)
        return y


class OverBatch(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0, keepdim=True)


class BySize(Norm):
    """Looks at no other sample, and counts them."""

    def forward(self, x: Tensor) -> Tensor:
        return x / len(x)


class OverPast(Norm):
    """Causal, and no norm: it looks at other tokens."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.cumsum(1)


class ByPlace(Norm):
    """Looks at no other token, and counts those before."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.arange(1, x.shape[1] + 1)[:, None].to(x.dtype)


class Dropping(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.5, self.training)


class Infinite(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.inf


class UpdateOverBatch(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update - update.mean(0, keepdim=True)


BATCH = "compute nothing over the batch"
TOKENS = "compute nothing over the tokens"


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm(
        "batch_independence",
        OverBatch,
        f"the output of sample 1 of 5 changes with the other samples: {BATCH}",
    ),
    norm(
        "batch_independence",
        BatchNorm,
        f"the output of sample 1 of 5 changes with the other samples in training mode: {BATCH}",
    ),
    norm(
        "batch_independence",
        BySize,
        f"sample 1 of 5 gives another output when it is alone: {BATCH}",
    ),
    Fault(
        kind="residual",
        check="batch_independence",
        cls=UpdateOverBatch,
        message=f"the output of sample 1 of 5 changes with the other samples: {BATCH}",
    ),
    norm(
        "per_token",
        OverPast,
        f"the output of token 3 of 7 changes with the other tokens: {TOKENS}",
    ),
    norm("per_token", ByPlace, f"token 3 of 7 gives another output when it is alone: {TOKENS}"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("check", ["batch_independence", "per_token"])
@pytest.mark.parametrize("cls", [Norm, Dropping])
def test_equal_masks_of_dropout_are_no_fault(cls: Any, check: str) -> None:
    assert outcome("norm", cls, check) == "passed"


def test_infinity_is_the_same_everywhere() -> None:
    for check in ("batch_independence", "per_token"):
        assert outcome("norm", Infinite, check) == "passed"


def test_an_attention_may_look_at_other_tokens_but_not_at_other_samples() -> None:
    cls = "registry.conformance.standins:Attention"
    assert outcome("attention", cls, "batch_independence") == "passed"
