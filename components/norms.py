"""Norms: each token's features brought to a common size.

Shapes: B batch, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt
from torch import Tensor, nn

from registry import Dims, Incompatible, ParameterRole


class _Norm(nn.Module):
    """The learned scale and shift that both norms share, and the precision they compute in."""

    def __init__(self, width: int, eps: float, weight: bool, bias: bool) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width)) if weight else None
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def parameter_roles(self) -> Mapping[str, ParameterRole]:
        roles = {}
        if self.weight is not None:
            roles["weight"] = ParameterRole(role="norm")
        if self.bias is not None:
            roles["bias"] = ParameterRole(role="bias")
        return roles

    def extra_repr(self) -> str:
        return f"eps={self.eps}, weight={self.weight is not None}, bias={self.bias is not None}"


class LayerNorm(_Norm):
    """Subtracts each token's mean and divides by its standard deviation.

    y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias, over the features, with the biased
    variance. (B, T, D) → (B, T, D). Computed in float32, or in float64 for float64 input; the
    result has the dtype of x.

    Initialization: weight one, bias zero.
    Paper: arXiv:1607.06450. Deviation: none.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        eps: Annotated[float, Gt(0)] = 1e-5,
        weight: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__(dims.d_model, eps, weight, bias)

    def forward(self, x: Tensor) -> Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)
        weight, bias = _cast(self.weight, dtype), _cast(self.bias, dtype)
        return F.layer_norm(x.to(dtype), x.shape[-1:], weight, bias, self.eps).to(x.dtype)


class RMSNorm(_Norm):
    """Divides each token by its root mean square.

    y = x / sqrt(mean(x²) + eps) * weight + bias, over the features; with `unit_offset`, 1 + weight
    in place of weight (arXiv:2403.08295, Gemma), so that weight decay pulls the scale to one.
    (B, T, D) → (B, T, D). Computed in float32, or in float64 for float64 input; the result has the
    dtype of x.

    Initialization: weight one, with `unit_offset` zero; bias zero.
    Paper: arXiv:1910.07467. Deviation: eps is added to the mean square, as is usual; a bias is on
    offer, off by default.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        eps: Annotated[float, Gt(0)] = 1e-5,
        weight: bool = True,
        bias: bool = False,
        unit_offset: bool = False,
    ) -> None:
        super().__init__(dims.d_model, eps, weight, bias)
        self.unit_offset = unit_offset
        if unit_offset:
            if self.weight is None:
                raise Incompatible("unit_offset has no effect: the norm has no weight")
            nn.init.zeros_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)
        weight = _cast(self.weight, dtype)
        if self.unit_offset and weight is not None:
            weight = 1 + weight
        y = F.rms_norm(x.to(dtype), x.shape[-1:], weight, self.eps)
        if self.bias is not None:
            y = y + self.bias
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, unit_offset={self.unit_offset}"


class NoNorm(nn.Module):
    """Leaves its input as it is.

    y = x. (B, T, D) → (B, T, D). Initialization: no parameters. Paper: none; the reference that
    a norm is compared with.
    """

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


def _cast(parameter: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if parameter is None else parameter.to(dtype)
