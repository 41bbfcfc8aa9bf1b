"""A position: how a model learns where a token stands.

Shapes: H heads, Tq queries, Tk keys. It has any of the hooks `embed`, `rotate` and `bias`.
"""

import math
from typing import Annotated

import torch
from annotated_types import Gt
from registry import ComponentSpec, Dims, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Lowers a score with the logarithm of the distance, as steeply as it learns to.

    bias[h, q, k] = −slope · log(1 + rate · |q − k|). Positions (Tq,), (Tk,) → (H, Tq, Tk).

    Initialization: both by their options; their logarithms are learned, so that they stay positive.
    Source: arXiv:2205.09921, one slope and rate for all heads and blocks instead of one a head.
    """

    per_layer = False

    def __init__(
        self,
        dims: Dims,
        *,
        slope: Annotated[float, Gt(0)] = 1.0,
        rate: Annotated[float, Gt(0)] = 1.0,
    ) -> None:
        super().__init__()
        self.log_slope = nn.Parameter(torch.tensor(math.log(slope)))
        self.log_rate = nn.Parameter(torch.tensor(math.log(rate)))

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Added to the scores: (H, Tq, Tk)."""
        distance = (q_positions[:, None] - k_positions[None, :]).abs()  # (Tq, Tk)
        bias = -self.log_slope.exp() * torch.log1p(self.log_rate.exp() * distance)
        return bias.expand(n_heads, -1, -1)  # (H, Tq, Tk)


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="position",
            name="my_component",
            target=MyComponent,
            summary="scores lowered by the logarithm of the distance",
            source="arXiv:2205.09921",
        )
    ]
