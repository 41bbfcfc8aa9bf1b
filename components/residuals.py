"""Residuals: how a sublayer's update meets the stream it was computed from.

Shapes: B batch, T tokens, D d_model. Each takes (x, update), both (B, T, D), and gives (B, T, D).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor, nn

from registry import Dims, ParameterRole


class Add(nn.Module):
    """Adds the update to the stream.

    y = x + update. (B, T, D), (B, T, D) → (B, T, D). Initialization: no parameters.
    Paper: arXiv:1512.03385. Deviation: none.
    """

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update


class Scaled(nn.Module):
    """Adds the update times a constant, or times a learned factor for each channel (LayerScale).

    y = x + value · update; with `per_channel`, y = x + weight · update, weight (D,).
    (B, T, D), (B, T, D) → (B, T, D).

    Initialization: weight `value` in every channel; 0.1 is the paper's choice up to 18 layers.
    Paper: arXiv:2103.17239. Deviation: the paper starts deeper stacks at 1e-5 and 1e-6; here the
    start is the option `value` at any depth.
    """

    def __init__(
        self, dims: Dims, *, value: Annotated[float, Gt(0)] = 0.1, per_channel: bool = False
    ) -> None:
        super().__init__()
        self.value = value
        self.weight = (
            nn.Parameter(torch.full((dims.d_model,), float(value))) if per_channel else None
        )

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update * (self.value if self.weight is None else self.weight)

    def parameter_roles(self) -> Mapping[str, ParameterRole]:
        return {} if self.weight is None else {"weight": ParameterRole(role="residual_scale")}

    def extra_repr(self) -> str:
        return f"value={self.value}, per_channel={self.weight is not None}"


class Gated(nn.Module):
    """Adds the update times one learned number (ReZero).

    y = x + weight · update, weight a scalar. (B, T, D), (B, T, D) → (B, T, D).

    Initialization: weight `initial`, by default 0: the block starts as the identity.
    Paper: arXiv:2003.04887. Deviation: one number a sublayer, where the paper shares one between
    the two sublayers of a block.
    """

    def __init__(self, dims: Dims, *, initial: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((), float(initial)))

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return x + update * self.weight

    def parameter_roles(self) -> Mapping[str, ParameterRole]:
        return {"weight": ParameterRole(role="residual_scale")}


class NoResidual(nn.Module):
    """Drops the stream and keeps the update alone.

    y = update. (B, T, D), (B, T, D) → (B, T, D). Initialization: no parameters. Paper: none; the
    reference that a residual connection is compared with.
    """

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        return update
