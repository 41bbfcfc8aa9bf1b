"""A norm whose statistics run over the batch: a sequence's output depends on its companions."""

import torch

from registry import ComponentSpec, Dims, hookimpl


class BatchNorm(torch.nn.Module):
    """(x − mean) / std over batch and tokens of each channel, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x):
        return self.weight * (x - x.mean((0, 1))) / (x.std((0, 1), correction=0) + 1e-5)


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="batch_norm", target=BatchNorm)]
