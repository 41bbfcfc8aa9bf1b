"""A norm that draws from the global random state in each pass."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class Noisy(torch.nn.Module):
    """weight · x with noise, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x):
        return self.weight * x + 0.01 * torch.randn_like(x)


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="noisy", target=Noisy)]
