"""One of two plugins that register the norm `twin`: this one doubles."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class Doubling(torch.nn.Module):
    """2 · x, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return 2 * x


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="twin", target=Doubling)]
