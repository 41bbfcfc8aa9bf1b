# dyt.py: DynamicTanh (arXiv:2503.10622), a norm without statistics
import torch

from registry import ComponentSpec, Dims, hookimpl


class DynamicTanh(torch.nn.Module):
    """y = weight · tanh(alpha · x) + bias, x (B, T, D) → (B, T, D)."""

    def __init__(self, dims: Dims, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.tensor(alpha))
        self.weight = torch.nn.Parameter(torch.ones(dims.d_model))
        self.bias = torch.nn.Parameter(torch.zeros(dims.d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * torch.tanh(self.alpha * x) + self.bias


@hookimpl
def register_components():
    return [
        ComponentSpec(
            kind="norm",
            name="dynamic_tanh",
            target=DynamicTanh,
            summary="A bounded elementwise function in place of a norm.",
            source="arXiv:2503.10622",
        )
    ]
