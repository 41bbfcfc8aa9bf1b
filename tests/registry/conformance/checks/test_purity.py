from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from registry.conformance.running import Suite
from tests.registry.conformance.finding import Fault, found, outcome


class Norm(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(()))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


class InPlace(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x.mul_(2)


class InPlaceThroughAView(Norm):
    def forward(self, x: Tensor) -> Tensor:
        x[:, :, 0] = 0
        return x


class ShiftsPositions(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + positions.add_(1)[:, None].to(x.dtype)


class Dicing(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + torch.rand(()) + random.random() + np.random.random())


class DropsAlways(Norm):
    """Dropout that evaluation does not turn off."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.1)


class OwnDice(Norm):
    """Draws from a generator of its own, which nothing seeds."""

    def forward(self, x: Tensor) -> Tensor:
        generator = torch.Generator()
        generator.seed()
        return x * (1 + torch.rand((), generator=generator))


class Counting(Norm):
    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


class Tallying(Norm):
    """Counts in a buffer, which does not enter the output."""

    def forward(self, x: Tensor) -> Tensor:
        self.kept += 1
        return 2 * x


class Built(Norm):
    """Two of it differ by what they were built as."""

    made = 0

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        Built.made += 1
        self.number = Built.made

    def forward(self, x: Tensor) -> Tensor:
        return x * self.number


class Remembering(Norm):
    """A running statistic that is no buffer."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.calls += 1
        return x + self.calls


class RememberingWell(Norm):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.kept += 1
        return x + self.kept


class NumpyNoise(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x * np.random.random() if self.training else x


class TorchNoise(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, 0.5, self.training)


class Exploding(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x / 0 if self.training else x


class Stuck(Norm):
    def train(self, mode: bool = True) -> Any:
        return self


NEW = "make a new tensor, x = x + 1 and not x += 1"
OWN = "draw from a generator of its own, or in training mode alone"
KEEP = "keep nothing from one pass to the next, and draw at random in training mode alone"


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm("input_unchanged", InPlace, f"the input was changed in place: {NEW}"),
    norm("input_unchanged", InPlaceThroughAView, f"the input was changed in place: {NEW}"),
    Fault(
        kind="position",
        check="input_unchanged",
        cls=ShiftsPositions,
        message=f"the input was changed in place in embed: {NEW}",
    ),
    norm(
        "global_random_state",
        Dicing,
        "the forward pass in evaluation mode drew from the global random state of torch, numpy, "
        f"python: {OWN}",
    ),
    norm(
        "global_random_state",
        DropsAlways,
        f"the forward pass in evaluation mode drew from the global random state of torch: {OWN}",
    ),
    norm(
        "determinism",
        OwnDice,
        f"one component gave two outputs for one input in evaluation mode: {KEEP}",
    ),
    norm(
        "determinism",
        Counting,
        f"one component gave two outputs for one input in evaluation mode: {KEEP}",
    ),
    norm(
        "determinism",
        Built,
        f"two equal components gave two outputs for one input in evaluation mode: {KEEP}",
    ),
    norm(
        "determinism",
        Tallying,
        "'kept' changed in evaluation mode: write to it in training mode alone",
    ),
    norm(
        "training_mode",
        Remembering,
        "a pass in training mode changed what evaluation gives, and nothing in state_dict shows "
        "it: register what is kept as a buffer",
    ),
    norm(
        "training_mode",
        NumpyNoise,
        "two passes in training mode differ under equal seeds of torch: draw from torch's "
        "generator alone",
    ),
    norm("training_mode", Exploding, "the output in training mode is not finite"),
    norm(
        "training_mode",
        Stuck,
        "eval() does not reach the component itself: leave it to torch.nn.Module, or call it for "
        "every part",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_what_is_drawn_from_global_states_is_not_taken_for_a_leak() -> None:
    assert outcome("norm", Dicing, "causality") == "passed"
    result = Suite("norm", OwnDice).result("causality")
    message = "two passes over one input differ, even with equal seeds, so that nothing can be told"
    assert (result.outcome, result.message) == ("not applicable", message)


@pytest.mark.parametrize("check", ["per_token", "derivative", "copies"])
def test_passes_are_compared_only_where_equal_ones_are_equal(check: str) -> None:
    result = Suite("norm", OwnDice).result(check)
    assert (result.outcome, result.message) == ("not applicable", "determinism must hold first")


@pytest.mark.parametrize("cls", [Norm, RememberingWell, TorchNoise])
@pytest.mark.parametrize(
    "check", ["input_unchanged", "global_random_state", "determinism", "training_mode"]
)
def test_what_training_is_for_is_no_fault(cls: Any, check: str) -> None:
    assert outcome("norm", cls, check) == "passed"
