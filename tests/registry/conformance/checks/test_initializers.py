from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from registry import Dims
from tests.registry.conformance.finding import Fault, found, outcome


class Normal:
    def __init__(self, dims: Dims) -> None: ...

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        tensor.normal_(0.0, 0.02, generator=generator)


class Returning(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> Any:
        return torch.randn(tensor.shape, generator=generator)


class Replacing(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        tensor.data = torch.randn(tensor.shape, generator=generator)


class Overflowing(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        std = math.inf if info.role == "token_embedding" else 1.0
        tensor.normal_(0.0, 1.0, generator=generator).mul_(std)


class Trespassing(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        whole = tensor if tensor._base is None else tensor._base
        whole.normal_(0.0, 0.02, generator=generator)


class Flat(Normal):
    """Takes matrices alone."""

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        _, columns = tensor.shape
        tensor.normal_(0.0, 1 / columns, generator=generator)


class Common(Normal):
    """Knows the common roles alone."""

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        known = {"mixing": None}
        if info.role in known:
            raise KeyError(info.role)
        super().fill(tensor, info, generator)


class Tracked(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        super().fill(tensor, info, generator)
        with torch.enable_grad():
            tensor.mul_(torch.ones((), requires_grad=True))


class Careless(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        tensor.normal_(0.0, 0.02)


class Unseeded(Normal):
    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        own = torch.Generator()
        own.seed()
        tensor.normal_(0.0, 0.02, generator=own)


class Adding(Normal):
    """Adds to what the tensor holds, which may be anything."""

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        held = tensor.nan_to_num(1.0)
        tensor.normal_(0.0, 0.02, generator=generator).add_(held)


class Function(Normal):
    def __init__(self, dims: Dims) -> None:
        self.std = lambda: 0.02


def initializer(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="initializer", check=check, cls=cls, message=message)


Q = "a matrix of role 'q'"
IN_PLACE = "write into the tensor itself, as tensor.normal_(generator=generator) does"
FAULTS = [
    initializer("fills", Returning, f"{Q} is not filled: {IN_PLACE}"),
    initializer("fills", Replacing, f"{Q} is not filled: {IN_PLACE}"),
    initializer(
        "fills",
        Overflowing,
        "a matrix of role 'token_embedding' holds numbers that are not finite",
    ),
    initializer("fills", Trespassing, f"filling {Q} wrote outside of the rows that it was given"),
    initializer(
        "fills",
        Flat,
        "fill of a convolution of role 'up' raised ValueError: too many values to unpack (expected "
        "2) (at `_, columns = tensor.shape`)",
    ),
    initializer(
        "fills",
        Common,
        "fill of a matrix of role 'mixing' raised KeyError: 'mixing' (at `raise "
        "KeyError(info.role)`)",
    ),
    initializer("fills", Tracked, f"{Q} asks for gradients once it is filled: fill it without"),
    initializer(
        "own_generator",
        Careless,
        f"filling {Q} drew from the global random state of torch: draw from a generator of its "
        "own, or in training mode alone",
    ),
    initializer(
        "own_generator",
        Unseeded,
        f"equal generators give other values of {Q}: keep nothing from one tensor to the next, and "
        "draw from the generator that is given",
    ),
    initializer(
        "own_generator",
        Adding,
        f"{Q} is filled according to what it held before: write every number anew",
    ),
    initializer(
        "copies",
        Function,
        "no copy can be made: AttributeError: Can't pickle local object "
        "'Function.__init__.<locals>.<lambda>': keep no functions in attributes, and define the "
        "class at module level",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("check", ["fills", "own_generator", "copies"])
def test_a_normal_distribution_passes(check: str) -> None:
    assert outcome("initializer", Normal, check) == "passed"
