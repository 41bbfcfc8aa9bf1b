"""Random parameters and inputs, one stream a name: equal names and shapes get equal values."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def generator(name: str, seed: int = 0) -> torch.Generator:
    """A random stream of that name."""
    return torch.Generator().manual_seed(zlib.crc32(f"{seed} {name}".encode()))


def normal(
    shape: Sequence[int], name: str, *, seed: int = 0, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Normal numbers from the stream of that name, drawn in double precision and then cast."""
    drawn = torch.randn(tuple(shape), generator=generator(name, seed), dtype=torch.float64)
    return drawn.to(dtype)


@torch.no_grad()
def randomize(module: nn.Module, seed: int = 0) -> None:
    """Give every parameter another value, in place.

    What a constructor sets to zero or one may hide a fault: a gate at zero hides a whole branch.
    Matrices are drawn with a variance of 1 / fan_in. A vector or scalar keeps its sign and its
    rough size, as what is made to be positive should stay so; around zero it is drawn at 0.3.
    """
    for name, parameter in module.named_parameters():
        if not (parameter.is_floating_point() or parameter.is_complex()):
            continue
        noise = normal(parameter.shape, name, seed=seed).to(parameter.dtype)
        if parameter.ndim >= 2:
            fan_in = math.prod(parameter.shape[1:])
            parameter.copy_(noise / math.sqrt(max(fan_in, 1)))
        else:
            factor = 1 + 0.3 * noise.real.clamp(-2, 2)
            parameter.copy_(torch.where(parameter == 0, 0.3 * noise, parameter * factor))
