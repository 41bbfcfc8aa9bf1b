"""A norm whose constructor swallows every option, misspelt ones too."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class Swallowing(torch.nn.Module):
    """scale · x, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims, **kwargs: float) -> None:
        super().__init__()
        self.scale = kwargs.get("scale", 1.0)

    def forward(self, x):
        return self.scale * x


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="swallowing", target=Swallowing)]
