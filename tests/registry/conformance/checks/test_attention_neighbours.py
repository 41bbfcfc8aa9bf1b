from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch.nn.functional as F
from torch import Tensor

from registry import Dims, Incompatible
from registry.conformance.running import Suite
from tests.registry.conformance.capable import Capable
from tests.registry.conformance.finding import Fault, found, outcome


class Deaf(Capable):
    """Takes a position and does nothing with it."""

    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        return super().forward(x, cache=cache)


class NeverBiased(Capable):
    def masked(self, q: Tensor, k: Tensor, position: Any, places: Tensor) -> Tensor:
        return super().masked(q, k, None, places)


class RotatedInVain(Capable):
    def compared(self, x: Tensor, position: Any, start: int) -> Any:
        q, k, places = super().compared(x, None, start)
        if hasattr(position, "rotate"):
            position.rotate(q, k, places)
        return q, k, places


class ExpectsBoth(Capable):
    """Asks a position for hooks that it may not have."""

    def masked(self, q: Tensor, k: Tensor, position: Any, places: Tensor) -> Tensor:
        if position is not None:
            assert callable(position.bias)
        return super().masked(q, k, position, places)


class CountsFromOne(Capable):
    def compared(self, x: Tensor, position: Any, start: int) -> Any:
        q, k, places = super().compared(x, None, start)
        if hasattr(position, "rotate"):
            q, k = position.rotate(q, k, places + 1)
        return q, k, places


class RotatedUnsplit(Capable):
    def compared(self, x: Tensor, position: Any, start: int) -> Any:
        q, k, places = super().compared(x, None, start)
        if hasattr(position, "rotate"):
            q, k = (
                part.transpose(1, 2) for part in position.rotate(q.mT.mT.transpose(1, 2), k, places)
            )
        return q, k, places


class Undecided(Capable):
    position_hooks = "maybe"  # type: ignore[assignment]


class NeverDrops(Capable):
    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        mode = self.training
        self.training = False
        try:
            return super().forward(x, position=position, cache=cache)
        finally:
            self.training = mode


class DropsInEvaluation(Capable):
    """As `scaled_dot_product_attention` does when it is not told otherwise."""

    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        return F.dropout(super().forward(x, position=position, cache=cache), self.p)


class Without(Capable):
    position_hooks = False
    attention_dropout = False


class OfModel(Capable):
    """Takes the width of its heads from the model's."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(replace(dims, head_dim=dims.d_model // dims.n_heads))


class Strict(Capable):
    """Says that it takes no other width."""

    def __init__(self, dims: Dims) -> None:
        if dims.head_dim != dims.d_model // dims.n_heads:
            raise Incompatible("head_dim must be d_model / n_heads")
        super().__init__(dims)


def hooks(cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check="position_hooks", cls=cls, message=message)


def dropout(cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check="attention_dropout", cls=cls, message=message)


FAULTS = [
    Fault(
        kind="attention",
        check="head_dim",
        cls=OfModel,
        message="dims.n_heads changes it, but dims.head_dim does not: give each head dims.head_dim "
        "features, or refuse what is not d_model / n_heads by registry.Incompatible",
    ),
    hooks(Deaf, "position_hooks is True, but rotate of the position is never called"),
    hooks(NeverBiased, "position_hooks is True, but bias of the position is never called"),
    hooks(RotatedInVain, "position_hooks is True, but what rotate gives changes nothing"),
    hooks(
        CountsFromOne,
        "rotate was given positions [1, 2, 3, 4, 5, 6, 7], expected those of the tokens, 0 to 6",
    ),
    hooks(Undecided, "position_hooks must be True or False, not 'maybe'"),
    dropout(
        NeverDrops,
        "attention_dropout is True, but two passes in training mode with dims.attention_dropout "
        "0.5 are equal",
    ),
    dropout(
        DropsInEvaluation,
        "dims.attention_dropout changes the output in evaluation mode: drop where self.training is "
        "True alone",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_position_that_lacks_a_hook_is_told_by_the_shape_check_already() -> None:
    fault = Fault(kind="attention", check="shape", cls=ExpectsBoth, message="")
    assert found(fault) == (
        "failed",
        "raised AttributeError: 'Rotating' object has no attribute 'bias' (at `assert "
        "callable(position.bias)`) with a rotating position",
    )


@pytest.mark.parametrize("check", ["position_hooks", "attention_dropout"])
def test_what_is_offered_is_honoured_or_not_offered(check: str) -> None:
    assert outcome("attention", Capable, check) == "passed"
    assert outcome("attention", Without, check) == "not applicable"


def test_other_widths_may_be_refused_and_do_not_matter_without_heads() -> None:
    assert outcome("attention", Capable, "head_dim") == "passed"
    assert outcome("attention", "registry.conformance.standins:Attention", "head_dim") == "passed"
    assert outcome("attention", Strict, "shape") == "passed"
    result = Suite("attention", Strict).result("head_dim")
    message = "it refuses other heads: head_dim must be d_model / n_heads"
    assert (result.outcome, result.message) == ("not applicable", message)
