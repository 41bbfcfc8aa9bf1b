from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from registry import ParameterInfo
from tests.components.makers import build, specs

FAN_OUT, FAN_IN, DEPTH = 300, 200, 8
ROLES = ("q", "k", "v", "attention_output", "gate", "up", "down", "head")
EMBEDDINGS = ("token_embedding", "position_embedding")


def drawn(name: str, options: dict[str, Any], role: str, seed: int = 0) -> Tensor:
    info = ParameterInfo(
        path="a.weight",
        role=role,
        shape=(FAN_OUT, FAN_IN),
        fan_in=FAN_IN,
        fan_out=FAN_OUT,
        depth=DEPTH,
        layer=0,
    )
    tensor = torch.full((FAN_OUT, FAN_IN), math.nan, dtype=torch.float64)
    initializer = build("initializer", (name, options))
    initializer.fill(tensor, info, torch.Generator().manual_seed(seed))
    return tensor


def assert_std(tensor: Tensor, std: float) -> None:
    """60,000 draws: the standard deviation is known to a third of a percent, the mean likewise."""
    assert abs(float(tensor.std()) / std - 1) < 0.015
    assert abs(float(tensor.mean())) < 0.02 * std


XAVIER = math.sqrt(2 / (FAN_IN + FAN_OUT))
KAIMING = 1 / math.sqrt(3 * FAN_IN)
STDS: dict[str, tuple[float, float]] = {
    "normal": (0.02, 0.02),
    "gpt2": (0.02, 0.02 / 4),  # sqrt(2 * 8) = 4
    "xavier": (XAVIER, XAVIER),
    "kaiming_uniform": (KAIMING, KAIMING),
}


def test_every_initializer_is_covered() -> None:
    assert {spec.name for spec in specs() if spec.kind == "initializer"} == set(STDS)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", STDS)
def test_the_standard_deviation_of_a_role(name: str, role: str) -> None:
    inner, last = STDS[name]
    std = last if role in ("attention_output", "down") else inner
    assert_std(drawn(name, {}, role), std)


@pytest.mark.parametrize("role", EMBEDDINGS)
@pytest.mark.parametrize("name", STDS)
def test_embeddings_have_a_standard_deviation_of_their_own(name: str, role: str) -> None:
    assert_std(drawn(name, {}, role), 0.02)
    assert_std(drawn(name, {"embedding_std": 1.0}, role), 1.0)
    inner, _ = STDS[name]
    assert_std(drawn(name, {"embedding_std": 1.0}, "up"), inner)


@pytest.mark.parametrize("name", ["normal", "gpt2"])
def test_embeddings_follow_the_std_by_default(name: str) -> None:
    assert_std(drawn(name, {"std": 0.1}, "token_embedding"), 0.1)
    assert_std(drawn(name, {"std": 0.1}, "up"), 0.1)
    assert_std(drawn(name, {"std": 0.1, "embedding_std": 0.3}, "token_embedding"), 0.3)


@pytest.mark.parametrize(
    ("name", "options", "bound"),
    [
        ("xavier", {"distribution": "uniform"}, math.sqrt(6 / (FAN_IN + FAN_OUT))),
        ("kaiming_uniform", {}, 1 / math.sqrt(FAN_IN)),
    ],
)
def test_a_uniform_distribution_fills_its_bounds(
    name: str, options: dict[str, Any], bound: float
) -> None:
    tensor = drawn(name, options, "up")
    assert float(tensor.abs().max()) <= bound
    assert float(tensor.abs().max()) > 0.999 * bound
    assert_std(tensor, bound / math.sqrt(3))


def test_kaiming_uniform_is_what_torch_does() -> None:
    bound = float(torch.nn.Linear(FAN_IN, FAN_OUT).weight.detach().abs().max())
    assert float(drawn("kaiming_uniform", {}, "up").abs().max()) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("role", ["up", "down", "token_embedding"])
@pytest.mark.parametrize("name", STDS)
def test_values_come_from_the_given_generator_alone(name: str, role: str) -> None:
    before = torch.get_rng_state()
    first = drawn(name, {}, role)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(drawn(name, {}, role), first)
    assert not torch.equal(drawn(name, {}, role, seed=1), first)


@pytest.mark.parametrize("name", STDS)
def test_a_parameter_that_requires_a_gradient_can_be_filled(name: str) -> None:
    linear = torch.nn.Linear(4, 4)
    info = ParameterInfo(
        path="up.weight", role="up", shape=(4, 4), fan_in=4, fan_out=4, depth=1, layer=0
    )
    before = linear.weight.detach().clone()
    generator = torch.Generator().manual_seed(0)
    build("initializer", name).fill(linear.weight, info, generator)
    assert not torch.equal(linear.weight, before)
    assert linear.weight.requires_grad
