from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor, nn

from registry import Dims
from tests.registry.conformance.finding import Fault, found, outcome


class Placement(nn.Module):
    """A placement that makes an attention alone, with nothing wrong."""

    final_norm: Any = True

    def __init__(self, dims: Dims, attention: Any) -> None:
        super().__init__()
        self.attention = attention()

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = x + self.attention(x, **mixing)
        return y


class Undecided(Placement):
    final_norm = "maybe"


class Silent(Placement):
    final_norm = None


class Keeping(Placement):
    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = x + self.attention(x)
        return y


class Renaming(Placement):
    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = x + self.attention(x, **dict.fromkeys(mixing))
        return y


class Positional(Placement):
    def forward(self, x: Tensor, position: Any = None) -> Tensor:  # type: ignore[override]
        y: Tensor = x + self.attention(x, position=position)
        return y


class Closed(Placement):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        y: Tensor = x + self.attention(x)
        return y


class WithoutAttention(Placement):
    def __init__(self, dims: Dims) -> None:
        nn.Module.__init__(self)
        self.mix = nn.Linear(dims.d_model, dims.d_model)

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = self.mix(x)
        return y


class Unmentioned(Placement):
    """Makes a part that its forward pass never calls."""

    def __init__(self, dims: Dims, attention: Any, norm: Any) -> None:
        super().__init__(dims, attention)
        self.norm = norm()


class Zero(Placement):
    def init_gain(self, role: str) -> float:
        return 0.0 if role == "down" else 1.0


class Partial(Placement):
    def init_gain(self, role: str) -> float:
        return {"q": 1.0}[role]


class Gained(Placement):
    def init_gain(self, role: str) -> float:
        return 0.5


def placement(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="placement", check=check, cls=cls, message=message)


UNCHANGED = "call self.attention(x, **mixing)"
BOTH = "a position and a cache"
FAULTS = [
    placement("final_norm", Undecided, "final_norm must be True or False, not 'maybe'"),
    placement("final_norm", Silent, "final_norm must be True or False, not None"),
    placement("mixing", Keeping, f"its attention is not handed {BOTH} as it came: {UNCHANGED}"),
    placement("mixing", Renaming, f"its attention is not handed {BOTH} as it came: {UNCHANGED}"),
    placement("mixing", Positional, f"its attention is not handed nothing as it came: {UNCHANGED}"),
    placement(
        "mixing",
        Closed,
        f"handed {BOTH} beside x, it raised TypeError: Closed.forward() got an unexpected keyword "
        "argument 'position': take **mixing",
    ),
    placement(
        "mixing",
        WithoutAttention,
        "it makes no attention: call attention() and keep what it returns",
    ),
    placement(
        "parts",
        Unmentioned,
        "norm number 1 is made but never called: make no more parts than the forward pass uses",
    ),
    placement("init_gain", Zero, "init_gain('down') must be a positive number, not 0.0"),
    placement(
        "init_gain",
        Partial,
        "init_gain('k') raised KeyError: 'k' (at `return {\"q\": 1.0}[role]`): return 1.0 for a "
        "role that it leaves",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("check", ["final_norm", "mixing", "parts"])
def test_a_placement_without_gains_passes(check: str) -> None:
    assert outcome("placement", Placement, check) == "passed"
    assert outcome("placement", Placement, "init_gain") == "not applicable"
    assert outcome("placement", Gained, "init_gain") == "passed"
