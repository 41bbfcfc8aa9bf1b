"""An initializer: the initial values of one named parameter, from its own random stream."""

import math
from typing import Annotated

import torch
from annotated_types import Gt
from registry import ComponentSpec, Dims, ParameterInfo, hookimpl
from torch import Tensor


class MyComponent:
    """Draws from normal distributions that narrow with width, and with depth where a sublayer ends.

    w ~ N(0, gain² · 2 / (5 · d_model)); roles `attention_output` and `down`
    w ~ N(0, gain² · 4 / (depth² · d_model)). Any shape.

    Source: arXiv:1910.05895 for the first, GPT-NeoX (arXiv:2204.06745) for the second.
    """

    def __init__(self, dims: Dims, *, gain: Annotated[float, Gt(0)] = 1.0) -> None:
        self.gain, self.d_model = gain, dims.d_model

    @torch.no_grad()
    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        """Fill `tensor` in place from `generator` alone."""
        std = math.sqrt(2 / (5 * self.d_model))
        if info.role in ("attention_output", "down"):
            std = 2 / (info.depth * math.sqrt(self.d_model))
        tensor.normal_(0.0, self.gain * std, generator=generator)


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="initializer",
            name="my_component",
            target=MyComponent,
            summary="narrower with width, and with depth where a sublayer ends",
            source="arXiv:1910.05895",
        )
    ]
