"""An attention without a causal mask: each position sees those that come after it."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class Leaking(torch.nn.Module):
    """Softmax over all positions, one head, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.qkv = torch.nn.Linear(dims.d_model, 3 * dims.d_model)
        self.out = torch.nn.Linear(dims.d_model, dims.d_model)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)  # (B, T, D) each
        weights = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).softmax(-1)  # (B, T, T)
        return self.out(weights @ v)


@hookimpl
def register_components():
    return [ComponentSpec(kind="attention", name="leaking", target=Leaking)]
