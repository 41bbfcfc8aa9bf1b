# differential.py: the difference of two softmax attentions (arXiv:2410.05258)
import math
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge, Lt

from registry import ComponentSpec, Dims, Incompatible, ParameterRole, hookimpl


class DifferentialAttention(torch.nn.Module):
    """(softmax(q₁ k₁ᵀ / √C) − λ softmax(q₂ k₂ᵀ / √C)) v, v (2C); RMS norm; times 1 − start.

    Two query heads make one; λ = exp(a₁·b₁) − exp(a₂·b₂) + start, a and b (C), one λ a layer. By
    default start = 0.8 − 0.6 exp(−0.3 layer). (B, T, D) → (B, T, D). Deviation from the paper: the
    norm has no weight.
    """

    position_hooks = True

    def __init__(self, dims: Dims, *, start: Annotated[float, Ge(0), Lt(1)] | None = None) -> None:
        super().__init__()
        if dims.n_heads % 2:
            raise Incompatible(f"differential attention pairs heads: {dims.n_heads} is odd")
        self.n_heads, self.head_dim = dims.n_heads, dims.head_dim
        self.start = 0.8 - 0.6 * math.exp(-0.3 * dims.layer) if start is None else start
        width = dims.n_heads * dims.head_dim
        self.q = torch.nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.k = torch.nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.v = torch.nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.out = torch.nn.Linear(width, dims.d_model, bias=dims.out_bias)
        self.mix = torch.nn.Parameter(torch.empty(4, dims.head_dim).normal_(0.0, 0.1))

    def forward(self, x, *, position=None):
        places = torch.arange(x.shape[1], device=x.device)
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x), 2)
        if hasattr(position, "rotate"):
            q, k = position.rotate(q, k, places)
        scores = q @ k.mT / math.sqrt(self.head_dim)  # (B, H, T, T)
        if hasattr(position, "bias"):
            scores = scores + position.bias(self.n_heads, places, places).to(x.dtype)
        scores = scores.masked_fill(places[:, None] < places[None, :], -torch.inf)
        first, second = scores.softmax(-1).unflatten(1, (-1, 2)).unbind(2)  # (B, H / 2, T, T)
        a1, b1, a2, b2 = self.mix
        mixed = (a1 @ b1).exp() - (a2 @ b2).exp() + self.start
        y = (first - mixed * second) @ v  # (B, H / 2, T, 2C)
        y = F.rms_norm(y, y.shape[-1:], eps=1e-5) * (1 - self.start)
        return self.out(y.transpose(1, 2).flatten(2))

    def split(self, x, wide=1):  # of heads that are `wide` times as wide
        return x.unflatten(-1, (-1, wide * self.head_dim)).transpose(1, 2)  # (B, heads, T, wide C)

    def parameter_roles(self):
        return {
            **{f"{name}.weight": ParameterRole(role=name) for name in "qkv"},
            "out.weight": ParameterRole(role="attention_output"),
            "mix": ParameterRole(role="mix", initialized=False),
        }


@hookimpl
def register_components():
    return [
        ComponentSpec(
            kind="attention",
            name="differential",
            target=DifferentialAttention,
            summary="one softmax attention less a learned part of another",
            source="arXiv:2410.05258",
        )
    ]
