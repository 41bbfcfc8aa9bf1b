"""An activation: the nonlinearity of the feed-forward.

Shapes: F hidden width; any leading dimensions.
"""

import torch
from registry import ComponentSpec, Dims, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Swish with a slope that is learned, one in each block.

    y = x · σ(slope · x): 1 is SiLU, 0 is linear. (…, F) → (…, F). An activation with `gated = True`
    is called with (gate, up) instead.

    Initialization: the option `slope`. Source: arXiv:1710.05941.
    """

    def __init__(self, dims: Dims, *, slope: float = 1.0) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(float(slope)))

    def forward(self, x: Tensor) -> Tensor:
        """x (…, F) → (…, F)."""
        return x * torch.sigmoid(self.slope * x)


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="activation",
            name="my_component",
            target=MyComponent,
            summary="x · σ(slope · x), the slope learned",
            source="arXiv:1710.05941",
        )
    ]
