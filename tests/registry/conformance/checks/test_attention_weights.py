from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.registry.conformance.capable import Capable
from tests.registry.conformance.finding import Fault, found, outcome


class WithoutSum(Capable):
    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().weights(x, position=position) / 2


class Negative(Capable):
    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return 1 - super().weights(x, position=position)


class OverQueries(Capable):
    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return self.scores(x, position=position).softmax(-2)


class OfOneHead(Capable):
    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().weights(x, position=position).mean(1)


class Unmasked(Capable):
    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        q, k, _ = self.compared(x, position, 0)
        return (q @ k.mT).softmax(-1)


class WithoutPosition(Capable):
    def weights(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().weights(x)


class Windowed(Capable):
    """Tells a window that the forward pass does not keep."""

    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        places = torch.arange(x.shape[1])
        far = places[:, None] - places[None, :] > 2
        return self.scores(x, position=position).masked_fill(far, -torch.inf).softmax(-1)


class Unwindowed(Capable):
    """Keeps a window in the forward pass that its weights do not tell."""

    telling = False

    def hidden(self, places: Tensor, seen: Tensor) -> Tensor:
        distance = places[:, None] - seen[None, :]
        return (distance < 0) | (distance > (10**6 if self.telling else 2))

    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        self.telling = True
        try:
            return super().weights(x, position=position)
        finally:
            self.telling = False


class Unscaled(Capable):
    """Tells scores before they are scaled."""

    def scores(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().scores(x, position=position) * 2

    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().scores(x, position=position).softmax(-1)


class MaskedFinite(Capable):
    """Hides with a large number instead of −inf."""

    def scores(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().scores(x, position=position).clamp_min(-1e9)


class Infinite(Capable):
    def scores(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().scores(x, position=position).abs()

    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return super().scores(x, position=position).softmax(-1)


class NoTensor(Capable):
    def scores(self, x: Tensor, *, position: Any = None) -> Any:
        return None


def weights(cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check="weights", cls=cls, message=message)


def scores(cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check="scores", cls=cls, message=message)


FAULTS = [
    weights(WithoutSum, "weights of a token do not sum to 1: softmax over the last dimension"),
    weights(Negative, "weights of a token do not sum to 1: softmax over the last dimension"),
    weights(OverQueries, "weights of a token do not sum to 1: softmax over the last dimension"),
    weights(OfOneHead, "weights: expected (B, H, T, T), got (B, T, T)"),
    weights(Unmasked, "weights look at later tokens: mask what lies above the diagonal"),
    weights(
        WithoutPosition,
        "weights with a rotating position raised TypeError: WithoutPosition.weights() got an "
        "unexpected keyword argument 'position'",
    ),
    weights(
        Windowed,
        "the output depends on tokens of weight 0: weights must tell all that a token looks at",
    ),
    weights(
        Unwindowed,
        "the output does not depend on tokens that have weight: weights must tell what the forward "
        "pass computes",
    ),
    scores(
        Unscaled,
        "the softmax of the scores is not the weights: return the scores scaled, biased and masked",
    ),
    scores(MaskedFinite, "scores are −inf elsewhere than weights are 0: mask both alike"),
    scores(Infinite, "scores are not finite where a token may look"),
    scores(NoTensor, "scores: expected (B, H, T, T), got NoneType"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("check", ["weights", "scores"])
def test_true_weights_and_scores_pass(check: str) -> None:
    assert outcome("attention", Capable, check) == "passed"
    cls = "registry.conformance.standins:Attention"
    assert outcome("attention", cls, check) == "not applicable"
