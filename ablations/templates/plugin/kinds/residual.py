"""A residual: how a sublayer's update meets the stream that it was computed from.

Shapes: B batch, T tokens, D d_model.
"""

import math
from typing import Annotated

import torch
from annotated_types import Gt, Lt
from registry import ComponentSpec, Dims, ParameterRole, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Shares each channel out between the stream and the update.

    y = (1 − g) · x + g · update, g = σ(gate), gate (D,). (B, T, D), (B, T, D) → (B, T, D).

    Initialization: g is the option `share` in every channel.
    Source: Highway networks, arXiv:1505.00387, with a gate that does not depend on x.
    """

    def __init__(self, dims: Dims, *, share: Annotated[float, Gt(0), Lt(1)] = 0.5) -> None:
        super().__init__()
        start = math.log(share / (1 - share))
        self.gate = nn.Parameter(torch.full((dims.d_model,), start))

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        """x and update (B, T, D) → (B, T, D)."""
        share = torch.sigmoid(self.gate)  # (D,)
        return (1 - share) * x + share * update

    def parameter_roles(self) -> dict[str, ParameterRole]:
        """The initializer leaves it as it is."""
        return {"gate": ParameterRole(role="residual_scale")}


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="residual",
            name="my_component",
            target=MyComponent,
            summary="a learned share of stream and update in each channel",
            source="arXiv:1505.00387",
        )
    ]
