from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import Dims
from registry.conformance import check_component
from tests.registry.conformance import attentions
from tests.registry.conformance.finding import Fault, found, outcome


class Mean(nn.Module):
    """A causal mean: an attention with nothing wrong."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.mix = nn.Linear(dims.d_model, dims.d_model)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        counts = torch.arange(1, x.shape[1] + 1)[:, None]
        return self.mixed(x.cumsum(1) / counts, x)

    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        y: Tensor = self.mix(past)
        return y


class Leaking(Mean):
    """Looks one token ahead, behind a gate that starts at zero."""

    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        y: Tensor = self.mix(past) + self.gate * x.roll(-1, 1)
        return y


class LeakingTheLast(Mean):
    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        y: Tensor = self.mix(past) + 1e-6 * x[:, -1:]
        return y


class LeakingInTraining(Mean):
    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        y: Tensor = self.mix(past)
        return y + x.mean(1, keepdim=True) if self.training else y


class LeakingLate(Mean):
    """Looks ahead beyond a block of 64 tokens alone."""

    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        y: Tensor = self.mix(past)
        return y + x[:, -1:] if x.shape[1] > 64 else y


class LeakingBackwards(Mean):
    """Shows nothing of the future, and takes its gradient."""

    def mixed(self, past: Tensor, x: Tensor) -> Tensor:
        ahead = x.roll(-1, 1)
        y: Tensor = self.mix(past) + ahead - ahead.detach()
        return y


class LeakingWithPositions(Mean):
    position_hooks = True

    def forward(self, x: Tensor, *, position: Any = None) -> Tensor:
        y = super().forward(x)
        return y + x[:, -1:] if hasattr(position, "bias") else y


class Convolving(Mean):
    """A long convolution by Fourier transforms, which no future reaches but by rounding."""

    def forward(self, x: Tensor) -> Tensor:
        t = x.shape[1]
        filters = torch.exp(-torch.arange(t) / 3.0).to(x.dtype)[:, None]
        spectrum = torch.fft.rfft(x, 2 * t, dim=1) * torch.fft.rfft(filters, 2 * t, dim=0)
        y: Tensor = self.mix(torch.fft.irfft(spectrum, 2 * t, dim=1)[:, :t])
        return y


class ByLength(Mean):
    """Divides by the number of all tokens."""

    def forward(self, x: Tensor) -> Tensor:
        return self.mixed(x.cumsum(1) / x.shape[1], x)


class NormOverTokens(nn.Module):
    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(1, keepdim=True)


class EmbedsTheMean(NormOverTokens):
    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + x.mean(1, keepdim=True)


class LeakingPlacement(nn.Module):
    final_norm = True

    def __init__(self, dims: Dims, attention: Any, feed_forward: Any) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention(), feed_forward()

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        y: Tensor = self.attention(x.flip(1), **mixing) + self.feed_forward(x)
        return y


ALONE = "a token may depend on itself and earlier ones alone"
MERGED = (
    "; head merge: (B, H, T, C) was reshaped to (B, T, H·C), which mixes tokens: transpose the "
    "dimensions instead"
)
SPLIT = (
    "; head split: (B, T, H·C) was reshaped to (B, H, T, C), which mixes tokens: transpose the "
    "dimensions instead"
)


def attention(check: str, cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check=check, cls=cls, message=message)


def leak(cls: Any, message: str, kind: str = "attention") -> Fault:
    return Fault(kind=kind, check="causality", cls=cls, message=message)


FAULTS = [
    leak(Leaking, f"the outputs of token 0 of 2 change with those after them: {ALONE}"),
    leak(LeakingTheLast, f"the outputs of token 0 of 2 change with those after them: {ALONE}"),
    leak(
        LeakingInTraining,
        f"the outputs of token 0 of 2 change with those after them in training mode: {ALONE}",
    ),
    leak(LeakingLate, f"the outputs of token 0 of 130 change with those after them: {ALONE}"),
    leak(
        LeakingBackwards,
        f"the gradient of the outputs of token 0 of 7 reaches later tokens: {ALONE}",
    ),
    leak(
        LeakingWithPositions,
        "the outputs of token 0 of 2 change with those after them with a position bias: " + ALONE,
    ),
    leak(
        NormOverTokens,
        f"the outputs of token 0 of 2 change with those after them: {ALONE}",
        kind="norm",
    ),
    leak(
        EmbedsTheMean,
        f"the outputs of token 0 of 2 change with those after them in embed: {ALONE}",
        kind="position",
    ),
    leak(
        LeakingPlacement,
        f"the outputs of token 0 of 2 change with those after them: {ALONE}",
        kind="placement",
    ),
    leak(
        attentions.MergedByReshape,
        f"the outputs of token 0 of 2 change with those after them: {ALONE}{MERGED}",
    ),
    leak(
        attentions.SplitByReshape,
        f"the outputs of token 0 of 2 change with those after them: {ALONE}{SPLIT}",
    ),
    attention(
        "prefix",
        ByLength,
        "the first 1 of 130 tokens give other outputs alone than before others: let no token "
        "depend on how many follow",
    ),
    attention(
        "mixes_tokens",
        attentions.NeverTransposedNorMerged,
        "the last token depends on no earlier one: an attention mixes tokens; transpose: "
        "scaled_dot_product_attention needs q as (B, H, T, C), got (B, T, H, C)",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


@pytest.mark.parametrize("check", ["causality", "prefix", "mixes_tokens"])
@pytest.mark.parametrize("cls", [Mean, Convolving, attentions.Careful])
def test_a_causal_mixer_passes_if_need_be_but_for_rounding(cls: Any, check: str) -> None:
    assert outcome("attention", cls, check) == "passed"


def test_a_report_says_which_component_leaks() -> None:
    assert check_component("attention", Leaking).leaks
    assert not check_component("attention", Mean).leaks
    expected = check_component("norm", NormOverTokens, expected_failures={"causality": "known"})
    assert expected.leaks
