"""A norm: brings each token's features to a common size.

Shapes: B batch, T tokens, D d_model.
"""

from typing import Annotated

import torch
from annotated_types import Ge, Gt
from registry import ComponentSpec, Dims, ParameterRole, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Divides each token by the power mean of its features' sizes.

    y = x / (mean(|x|^power) + eps)^(1/power) · weight, over the features: 1 divides by the mean
    size, 2 is RMSNorm. (B, T, D) → (B, T, D). Computed in float32, or in float64 for float64
    input; the result has the dtype of x.

    Initialization: weight one. Source: RMSNorm, arXiv:1910.07467, with another power.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        power: Annotated[float, Ge(1)] = 1.0,
        eps: Annotated[float, Gt(0)] = 1e-5,
    ) -> None:
        super().__init__()
        self.power, self.eps = power, eps
        self.weight = nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        mean = wide.abs().pow(self.power).mean(-1, keepdim=True)  # (B, T, 1)
        y = wide / (mean + self.eps).pow(1 / self.power) * self.weight
        return y.to(x.dtype)

    def parameter_roles(self) -> dict[str, ParameterRole]:
        """The initializer leaves it as it is."""
        return {"weight": ParameterRole(role="norm")}


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="norm",
            name="my_component",
            target=MyComponent,
            summary="power mean 1 in each token",
            source="arXiv:1910.07467",
        )
    ]
