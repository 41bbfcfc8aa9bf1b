"""A norm that cuts the gradient off: what lies before it is never trained."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class Detached(torch.nn.Module):
    """weight · x / rms(x), its gradient to x lost, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x):
        x = x.detach()
        return self.weight * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="detached", target=Detached)]
