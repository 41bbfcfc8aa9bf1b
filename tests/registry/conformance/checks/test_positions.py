from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from registry.conformance.running import Suite
from tests.registry.conformance.finding import Fault, found, outcome


class Silent(nn.Module):
    """A position without hooks."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.dims = dims


class Misspelt(Silent):
    def rotates(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return q, k


class Undecided(Silent):
    per_layer = "maybe"


class NoMethod(Silent):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.bias = nn.Parameter(torch.zeros(2))


class EmbedsEachLayer(Silent):
    per_layer = True

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + positions[:, None].to(x.dtype)


class CountsItself(Silent):
    """Goes by the number of tokens instead of their positions."""

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + torch.arange(x.shape[1])[:, None].to(x.dtype)


class BiasCountsItself(Silent):
    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        places = torch.arange(len(q_positions), dtype=torch.float64)
        return (places[:, None] * places[None, :]).expand(n_heads, -1, -1)


class OneHead(Silent):
    """Gives keys the shape of queries."""

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return q, k if k.shape[1] == 2 else k.expand_as(q)


class KnowsItsHeads(Silent):
    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        return torch.zeros(self.dims.n_heads, len(q_positions), len(k_positions))


class Square(Silent):
    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        return torch.zeros(n_heads, len(q_positions), len(q_positions))


class Masking(Silent):
    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        later = q_positions[:, None] < k_positions[None, :]
        bias = torch.zeros(later.shape).masked_fill(later, -torch.inf)
        return bias.expand(n_heads, -1, -1)


class Scaling(Silent):
    """Is calibrated by multiplication, so that twice is too much."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.register_buffer("size", torch.ones(()))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + self.size * positions[:, None].to(x.dtype)

    def calibrate(self, embedding_rms: float) -> None:
        self.size *= embedding_rms


class Dividing(Scaling):
    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + positions[:, None].to(x.dtype) / self.size

    def calibrate(self, embedding_rms: float) -> None:
        self.size.fill_(embedding_rms)


class Calibrated(Scaling):
    def calibrate(self, embedding_rms: float) -> None:
        self.size.fill_(embedding_rms)


class Asking(Calibrated):
    def calibrate(self, embedding_rms: float, extra: float) -> None:  # type: ignore[override]
        ...


def position(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="position", check=check, cls=cls, message=message)


GIVEN = "go by the positions that are given"
FAULTS = [
    position("hooks", Misspelt, "'rotates' is no hook of a position; did you mean 'rotate'?"),
    position("hooks", Undecided, "per_layer must be True or False, not 'maybe'"),
    position(
        "hooks",
        EmbedsEachLayer,
        "per_layer is True, but what embed adds to the embedding must be the same in every block: "
        "leave per_layer out",
    ),
    position(
        "offsets",
        CountsItself,
        f"tokens at positions 5 to 8 alone get other values than in a pass of 12 in embed: {GIVEN}",
    ),
    position(
        "offsets",
        BiasCountsItself,
        f"tokens at positions 5 to 8 alone get other values than in a pass of 12 in bias: {GIVEN}",
    ),
    position(
        "head_counts",
        OneHead,
        "rotate for 5 query and 1 key/value heads: expected 2 × 5 × 7 × 4 and 2 × 1 × 7 × 4, got "
        "2 × 5 × 7 × 4 and 2 × 5 × 7 × 4",
    ),
    position(
        "head_counts",
        KnowsItsHeads,
        "bias for 4 heads, 1 queries and 1 keys: expected 4 × 1 × 1, got 6 × 1 × 1",
    ),
    position(
        "head_counts",
        Square,
        "bias for 6 heads, 1 queries and 9 keys: expected 6 × 1 × 9, got 6 × 1 × 1",
    ),
    position(
        "head_counts",
        Masking,
        "bias is not finite for 6 heads, 7 queries and 7 keys: the mask is attention's",
    ),
    position(
        "calibrate",
        Scaling,
        "calibrating twice with one size gives another output: set, do not multiply",
    ),
    position("calibrate", Dividing, "the output is not finite once calibrated with size 0"),
    position(
        "calibrate",
        Asking,
        "calibrate raised TypeError: Asking.calibrate() missing 1 required positional argument: "
        "'extra'",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_hook_that_is_no_method_is_told_by_the_shape_check_already() -> None:
    state, message = found(position("shape", NoMethod, ""))
    assert (state, message) == (
        "failed",
        "raised TypeError: 'Parameter' object is not callable in bias",
    )


@pytest.mark.parametrize("check", ["hooks", "offsets", "calibrate"])
def test_a_calibrated_position_passes(check: str) -> None:
    assert outcome("position", Calibrated, check) == "passed"


def test_hooks_are_named() -> None:
    assert Suite("position", Silent).result("hooks").message == "hooks: none"
    assert Suite("position", Calibrated).result("hooks").message == "hooks: embed"
    assert outcome("position", Silent, "offsets") == "not applicable"
    assert outcome("position", Calibrated, "head_counts") == "not applicable"
    assert outcome("position", CountsItself, "calibrate") == "not applicable"
