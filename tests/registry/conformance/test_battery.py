"""The checks as a whole: each explained, each shown able to fail, each kind held to a minimum."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims, Incompatible, Kind
from registry.conformance import check_component
from registry.conformance.battery import CHECKS, checks_of
from registry.conformance.report import MINIMUM
from tests.registry.conformance import test_explanation
from tests.registry.conformance.test_decorator import ROOT

FOLDER = Path(__file__).parent / "checks"
NEVER_SKIPPED = {"constructor", "builds"}


def faults() -> list[Any]:
    files = sorted(FOLDER.glob("test_*.py"))
    modules = [import_module(f"tests.registry.conformance.checks.{file.stem}") for file in files]
    return [fault for module in (*modules, test_explanation) for fault in module.FAULTS]


def test_every_check_is_shown_able_to_fail() -> None:
    assert {fault.check for fault in faults()} == {check.name for check in CHECKS}


def test_every_message_is_one_line_that_says_enough() -> None:
    for fault in faults():
        assert "\n" not in fault.message
        assert len(fault.message) > 20


def test_every_check_is_explained_in_a_sentence() -> None:
    for check in CHECKS:
        assert check.summary.endswith("."), check.name
        assert check.kinds


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_has_its_foundations_first_and_no_name_twice(kind: Kind) -> None:
    names = [check.name for check in checks_of(kind)]
    assert len(set(names)) == len(names)
    assert set(names[:2]) == NEVER_SKIPPED


def test_every_file_of_checks_has_a_test_of_the_same_name() -> None:
    own = ROOT / "registry" / "conformance"
    for folder, tests in ((own, FOLDER.parent), (own / "checks", FOLDER)):
        names = {file.stem for file in folder.glob("*.py")} - {"__init__"}
        tested = {file.stem.removeprefix("test_") for file in tests.glob("test_*.py")}
        assert names - tested <= WITHOUT_TEST


WITHOUT_TEST = {
    "comparing",  # when the checks take outputs for equal
    "calls",
    "errors",
    "filling",
    "products",  # with the explanations that they are part of
    "reshapes",
    "subject",
    "trials",
}


class Bare(nn.Module):
    """Has nothing that is optional, and by its kind's name does what that kind must."""

    final_norm = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


class Sum(Bare):
    def forward(self, x: Tensor, update: Tensor) -> Tensor:  # type: ignore[override]
        return x + update


class Past(Bare):
    def __init__(self, dims: Dims) -> None:
        if dims.head_dim != dims.d_model // dims.n_heads:
            raise Incompatible("heads must divide the model")
        super().__init__(dims)

    def forward(self, x: Tensor) -> Tensor:
        return x.cumsum(1)


class Block(Bare):
    def __init__(self, dims: Dims, attention: Any) -> None:
        super().__init__(dims)
        self.attention = attention()

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:  # type: ignore[override]
        y: Tensor = self.attention(x, **mixing)
        return y


class Silent(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()


class Zeros:
    def __init__(self, dims: Dims) -> None: ...

    def fill(self, tensor: Tensor, info: Any, generator: torch.Generator) -> None:
        tensor.zero_()


BARE: dict[Kind, type[Any]] = {
    Kind.NORM: Bare,
    Kind.ACTIVATION: Bare,
    Kind.FEED_FORWARD: Bare,
    Kind.ATTENTION: Past,
    Kind.POSITION: Silent,
    Kind.RESIDUAL: Sum,
    Kind.PLACEMENT: Block,
    Kind.INITIALIZER: Zeros,
}


@pytest.mark.parametrize("kind", Kind)
def test_the_minimum_is_what_runs_for_a_component_without_anything_optional(kind: Kind) -> None:
    report = check_component(kind, BARE[kind])
    assert report.passed, report.text()
    assert report.n_run == MINIMUM[kind]
