"""A plugin that claims a name of the built-ins."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class LayerNorm(torch.nn.Module):
    """x as it is, under a name that is taken, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x):
        return x


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="layernorm", target=LayerNorm)]
