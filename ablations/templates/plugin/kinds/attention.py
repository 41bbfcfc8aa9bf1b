"""An attention: any causal mixing of tokens.

Shapes: B batch, T tokens, D d_model, H heads, C head_dim.
"""

from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Gt
from registry import ComponentSpec, Dims, ParameterRole, Position, hookimpl
from torch import Tensor, nn


class MyComponent(nn.Module):
    """Compares the directions of queries and keys, with a learned sharpness for each head.

    softmax(sharpness · cos(q, k) + bias + mask) v, heads concatenated and projected.
    (B, T, D) → (B, T, D).

    Initialization: weights by the initializer (roles `q`, `k`, `v`, `attention_output`), biases
    zero, sharpness by its option. Source: arXiv:2010.04245, with one sharpness for each head.
    """

    position_hooks = True

    def __init__(self, dims: Dims, *, sharpness: Annotated[float, Gt(0)] = 10.0) -> None:
        super().__init__()
        self.n_heads, self.head_dim = dims.n_heads, dims.head_dim
        width = dims.n_heads * dims.head_dim
        self.q = nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.k = nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.v = nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.out = nn.Linear(width, dims.d_model, bias=dims.out_bias)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
        self.sharpness = nn.Parameter(torch.full((dims.n_heads, 1, 1), float(sharpness)))

    def forward(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        weights = self.weights(x, position=position).to(x.dtype)
        y = weights @ self._split(self.v(x))  # (B, H, T, C)
        projected: Tensor = self.out(y.transpose(1, 2).flatten(2))  # (B, T, D)
        return projected

    def weights(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → what each token looks at, (B, H, T, T)."""
        return self.scores(x, position=position).softmax(-1)

    def scores(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → scores (B, H, T, T), −inf where a token may not look."""
        places = torch.arange(x.shape[1], device=x.device)
        q, k = self._split(self.q(x)), self._split(self.k(x))
        rotate = getattr(position, "rotate", None)
        if rotate is not None:
            q, k = rotate(q, k, places)
        wide = torch.promote_types(x.dtype, torch.float32)
        q, k = F.normalize(q.to(wide), dim=-1), F.normalize(k.to(wide), dim=-1)
        scores = self.sharpness * (q @ k.mT)  # (B, H, T, T)
        bias = getattr(position, "bias", None)
        if bias is not None:
            scores = scores + bias(self.n_heads, places, places).to(wide)
        return scores.masked_fill(places[:, None] < places[None, :], -torch.inf)

    def parameter_roles(self) -> dict[str, ParameterRole]:
        """What the initializer and the placement's gains know the weights by."""
        return {
            "q.weight": ParameterRole(role="q"),
            "k.weight": ParameterRole(role="k"),
            "v.weight": ParameterRole(role="v"),
            "out.weight": ParameterRole(role="attention_output"),
            "sharpness": ParameterRole(role="sharpness", initialized=False),
        }

    def _split(self, x: Tensor) -> Tensor:
        x = x.view(*x.shape[:2], self.n_heads, self.head_dim)  # (B, T, H, C)
        return x.transpose(1, 2)  # (B, H, T, C)


@hookimpl
def register_components() -> list[ComponentSpec]:
    """What this package brings."""
    return [
        ComponentSpec(
            kind="attention",
            name="my_component",
            target=MyComponent,
            summary="cosines of queries and keys, of a learned sharpness",
            source="arXiv:2010.04245",
        )
    ]
