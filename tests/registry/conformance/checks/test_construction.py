from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
import torch
from annotated_types import Gt
from torch import Tensor, nn

from registry import Dims, Incompatible, ParameterRole
from registry.conformance.running import Suite
from tests.registry.conformance.finding import Fault, found, outcome


class Norm(nn.Module):
    """A norm with nothing wrong, to begin with."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Swallowing(Norm):
    def __init__(self, dims: Dims, **kwargs: Any) -> None:
        super().__init__(dims)


class WrongDefault(Norm):
    def __init__(self, dims: Dims, *, eps: Annotated[float, Gt(0)] = 0.0) -> None:
        super().__init__(dims)


class Asking(Norm):
    def __init__(self, dims: Dims, *, name: str) -> None:
        super().__init__(dims)


class Refusing(Norm):
    def __init__(self, dims: Dims) -> None:
        raise Incompatible(f"d_model must divide by 7, not {dims.d_model}")


class Unsupported(Norm):
    @classmethod
    def unsupported(cls, dims: Dims, model: Any) -> str | None:
        assert (model.depth, model.layers[0].norm.name) == (dims.depth, "stand_in")
        return "no sizes suit it"


class Picky(Norm):
    """Takes other sizes than those tried first."""

    @classmethod
    def unsupported(cls, dims: Dims, model: Any) -> str | None:
        return "d_model must be 64" if dims.d_model != 64 else None


class Raising(Norm):
    def __init__(self, dims: Dims) -> None:
        raise ValueError("not today")


class Exiting(Norm):
    def __init__(self, dims: Dims) -> None:
        raise SystemExit(0)


class NoModule:
    def __init__(self, dims: Dims) -> None: ...


class Drawing(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.weight = nn.Parameter(torch.tensor(np.random.rand(dims.d_model)).float())


class Frozen(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.weight.requires_grad_(False)


class Looking(Norm):
    """Asks a tensor for its values while it is built."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.size = float(self.weight.detach().sum())


class Growing(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.register_buffer("table", torch.zeros(1 if self.weight.is_meta else 2))


class Missing(Norm):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        if not self.weight.is_meta:
            self.register_buffer("table", torch.zeros(2))


class NamingAnother(Norm):
    def parameter_roles(self) -> Any:
        return {"wieght": ParameterRole(role="norm")}


class NamingRoles(Norm):
    def parameter_roles(self) -> Any:
        return {"weight": ["norm"]}


class NamingRanges(Norm):
    def parameter_roles(self) -> Any:
        return {"weight": [ParameterRole(role="norm", rows=(0, 8))]}


class NamingBadly(Norm):
    def parameter_roles(self) -> Any:
        raise KeyError("weight")


class Listing(nn.Module):
    """A feed-forward that keeps its activations where torch does not find them."""

    def __init__(self, dims: Dims, activation: Any) -> None:
        super().__init__()
        self.activations = [activation(), activation()]

    def forward(self, x: Tensor) -> Tensor:
        for activation in self.activations:
            x = activation(x, x) if activation.gated else activation(x)
        return x


class Idle(Listing):
    """A feed-forward that makes two activations and uses the first."""

    def __init__(self, dims: Dims, activation: Any) -> None:
        super().__init__(dims, activation)
        self.activations = nn.ModuleList(self.activations)  # type: ignore[assignment]

    def forward(self, x: Tensor) -> Tensor:
        activation = self.activations[0]
        y: Tensor = activation(x, x) if activation.gated else activation(x)
        return y


class GivenUp(Listing):
    """A feed-forward that makes an activation, and gives it up."""

    def __init__(self, dims: Dims, activation: Any) -> None:
        super().__init__(dims, activation)
        self.activations = nn.ModuleList(self.activations[:1])  # type: ignore[assignment]


HERE = __name__
ADVICE = "for what it cannot serve it may raise registry.Incompatible"
SIZES = (
    "serve one of (head_dim other than d_model / n_heads), (head_dim of d_model / n_heads, no "
    "biases), (powers of two)"
)


def norm(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="norm", check=check, cls=cls, message=message)


FAULTS = [
    norm(
        "constructor",
        Swallowing,
        f"the constructor of {HERE}.Swallowing takes **kwargs, so that a misspelt option would "
        "pass unseen: write __init__(self, dims, *, option: type = default)",
    ),
    norm(
        "constructor",
        WrongDefault,
        f"option 'eps' of {HERE}.WrongDefault must be number > 0, but its default is 0.0",
    ),
    norm(
        "constructor",
        Asking,
        "no value is known for the required option 'name' (text): name one in the examples of its "
        "ComponentSpec, or give options",
    ),
    norm(
        "constructor",
        "absent:C",
        "absent:C cannot be loaded: ModuleNotFoundError: No module named 'absent'",
    ),
    norm(
        "builds",
        Refusing,
        "no sizes are accepted: d_model must divide by 7, not 60; d_model must divide by 7, not "
        f"24; d_model must divide by 7, not 64: {SIZES}",
    ),
    norm("builds", Unsupported, f"no sizes are accepted: no sizes suit it: {SIZES}"),
    norm(
        "builds",
        Raising,
        'the constructor raised ValueError: not today (at `raise ValueError("not today")`): '
        f"{ADVICE}",
    ),
    norm(
        "builds",
        Exiting,
        f"the constructor raised SystemExit: 0 (at `raise SystemExit(0)`): {ADVICE}",
    ),
    norm("builds", NoModule, "a norm must be a torch.nn.Module: derive the class from it"),
    norm(
        "builds",
        Drawing,
        "'weight' differs between two built under one random state: draw from torch's global state "
        "alone while building",
    ),
    norm(
        "builds",
        Frozen,
        "parameter 'weight' has requires_grad False, but the measures differentiate by every "
        "parameter: register it as a buffer",
    ),
    norm(
        "meta_device",
        Looking,
        "on the meta device, where only shapes are, the constructor raised RuntimeError: "
        "Tensor.item() cannot be called on meta tensors (at `self.size = "
        "float(self.weight.detach().sum())`)",
    ),
    norm(
        "meta_device",
        Growing,
        "'table' has shape (1,) on the meta device and (2,) otherwise: make shapes of sizes alone",
    ),
    norm("meta_device", Missing, "'table' is missing on the meta device"),
    norm(
        "roles",
        NamingAnother,
        "a role is given to 'wieght', which it lacks; did you mean 'weight'? known: weight",
    ),
    norm("roles", NamingRoles, "the role of 'weight' must be a ParameterRole or a list of them"),
    norm(
        "roles",
        NamingRanges,
        "the row ranges of 'weight' must follow each other from 0 to 60, not [(0, 8)]",
    ),
    norm("roles", NamingBadly, "it raised KeyError: 'weight' (at `raise KeyError(\"weight\")`)"),
    Fault(
        kind="feed_forward",
        check="parts",
        cls=Listing,
        message="activation number 1 is not held as a submodule, so that it is neither trained nor "
        "counted: assign it to an attribute, or put several into a ModuleList",
    ),
    Fault(
        kind="feed_forward",
        check="parts",
        cls=Idle,
        message="activation number 2 is made but never called: make no more parts than the forward "
        "pass uses",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_nothing_is_wrong_with_what_the_faulty_ones_derive_from() -> None:
    for check in ("constructor", "builds", "meta_device"):
        assert outcome("norm", Norm, check) == "passed"
    assert outcome("norm", Norm, "roles") == "not applicable"


def test_a_part_that_is_given_up_is_nobodys() -> None:
    assert outcome("feed_forward", GivenUp, "parts") == "passed"


def test_a_component_is_tried_at_the_sizes_that_it_takes() -> None:
    result = Suite("norm", Picky).result("builds")
    assert (result.outcome, result.message) == ("passed", "at sizes: powers of two")
    assert Suite("norm", Picky).result("shape").outcome == "passed"
    message = (
        "at sizes: head_dim other than d_model / n_heads; head_dim of d_model / n_heads, no "
        "biases; powers of two"
    )
    assert Suite("norm", Norm).result("builds").message == message
