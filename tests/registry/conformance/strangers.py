"""Published parts as strangers write them: each must pass every check that applies to it.

B batch, T tokens, D d_model, H heads, C head_dim, F hidden width, E experts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from annotated_types import Gt
from torch import Tensor, nn

from registry import Dims, ParameterInfo, ParameterRole
from registry.contracts import Maker


class DynamicTanh(nn.Module):
    """y = weight · tanh(alpha · x) + bias (arXiv:2503.10622)."""

    def __init__(self, dims: Dims, *, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.weight = nn.Parameter(torch.ones(dims.d_model))
        self.bias = nn.Parameter(torch.zeros(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * torch.tanh(self.alpha * x) + self.bias


class GatedLinear(nn.Module):
    """A linear attention whose state decays by a gate for each head: no weights, no cache."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.h, self.c = dims.n_heads, dims.head_dim
        self.qkv = nn.Linear(dims.d_model, 3 * self.h * self.c, bias=dims.qkv_bias)
        self.decay = nn.Linear(dims.d_model, self.h)
        self.out = nn.Linear(self.h * self.c, dims.d_model, bias=dims.out_bias)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.h, self.c)).transpose(1, 2)  # (B, H, T, C)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        kept = F.logsigmoid(self.decay(x)).mT.cumsum(-1)  # (B, H, T)
        fading = (kept[..., :, None] - kept[..., None, :]).tril().exp().tril()  # (B, H, T, T)
        y = (q @ k.mT * fading / self.c) @ v
        projected: Tensor = self.out(y.transpose(1, 2).flatten(2))
        return projected


class Recurrent(GatedLinear):
    """The same, one token after the other."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (self.h, self.c)) for part in self.qkv(x).chunk(3, dim=-1))
        decay = self.decay(x).sigmoid()[..., None, None]  # (B, T, H, 1, 1)
        state = x.new_zeros(len(x), self.h, self.c, self.c)
        outputs = []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + k[:, t, :, :, None] * v[:, t, :, None, :]
            outputs.append((q[:, t, :, None, :] @ state).flatten(1) / self.c)
        projected: Tensor = self.out(torch.stack(outputs, 1))
        return projected


class Differential(nn.Module):
    """The difference of two softmax attentions (arXiv:2410.05258)."""

    position_hooks = True

    def __init__(self, dims: Dims, norm: Maker, *, start: float = 0.8) -> None:
        super().__init__()
        self.h, self.c = dims.n_heads, dims.head_dim
        self.start = start
        width = self.h * self.c
        self.q = nn.Linear(dims.d_model, 2 * width, bias=False)
        self.k = nn.Linear(dims.d_model, 2 * width, bias=False)
        self.v = nn.Linear(dims.d_model, width, bias=dims.qkv_bias)
        self.out = nn.Linear(width, dims.d_model, bias=dims.out_bias)
        self.mix = nn.Parameter(torch.zeros(self.h))
        self.norm = norm(replace(dims, d_model=self.c))

    def forward(self, x: Tensor, *, position: Any = None) -> Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        q, k = (part(x).unflatten(-1, (2 * self.h, self.c)).mT.mT for part in (self.q, self.k))
        q, k = q.transpose(1, 2), k.transpose(1, 2)  # (B, 2 · H, T, C)
        rotate = getattr(position, "rotate", None)
        if rotate is not None:
            q, k = rotate(q, k, places)
        scores = q @ k.mT / math.sqrt(self.c)
        bias = getattr(position, "bias", None)
        if bias is not None:
            scores = scores + bias(2 * self.h, places, places).to(scores.dtype)
        hidden = places[:, None] < places[None, :]
        first, second = scores.masked_fill(hidden, -torch.inf).softmax(-1).chunk(2, dim=1)
        mixed = self.start + self.mix[:, None, None]
        v = self.v(x).unflatten(-1, (self.h, self.c)).transpose(1, 2)
        y = (first - mixed * second) @ v  # (B, H, T, C)
        y = self.norm(y.flatten(1, 2)).view_as(y)
        projected: Tensor = self.out(y.transpose(1, 2).flatten(2))
        return projected


class Mixture(nn.Module):
    """Two of E experts for each token, by a learned router (arXiv:1701.06538)."""

    def __init__(
        self, dims: Dims, activation: Maker, *, experts: Annotated[int, Gt(1)] = 4, top: int = 2
    ) -> None:
        super().__init__()
        self.top = top
        self.router = nn.Linear(dims.d_model, experts, bias=False)
        self.activation = activation()
        wide = 2 if getattr(self.activation, "gated", False) else 1
        self.up = nn.Parameter(torch.randn(experts, dims.d_model, wide * dims.d_ff) * 0.02)
        self.down = nn.Parameter(torch.randn(experts, dims.d_ff, dims.d_model) * 0.02)
        self.wide = wide

    def forward(self, x: Tensor) -> Tensor:
        gates, chosen = self.router(x).topk(self.top, dim=-1)  # (B, T, top)
        gates = torch.zeros_like(self.router(x)).scatter(-1, chosen, gates.softmax(-1))
        hidden = torch.einsum("btd,edf->btef", x, self.up).chunk(self.wide, dim=-1)
        y = torch.einsum("btef,efd->bted", self.activation(*hidden), self.down)
        return (gates[..., None] * y).sum(-2)

    def parameter_roles(self) -> Mapping[str, ParameterRole | Sequence[ParameterRole]]:
        return {"up": ParameterRole(role="up"), "down": ParameterRole(role="down")}


class WidthScaled:
    """w ~ N(0, 1 / fan_in), heads narrower by their width (arXiv:2203.03466)."""

    def __init__(self, dims: Dims, *, base: Annotated[int, Gt(0)] = 64) -> None:
        self.width, self.base = dims.d_model, base

    def fill(self, tensor: Tensor, info: ParameterInfo, generator: torch.Generator) -> None:
        std = info.fan_in**-0.5
        if info.role == "head":
            std *= self.base / self.width
        tensor.normal_(0.0, std, generator=generator)


class RelativeTable(nn.Module):
    """A learned bias for each distance, one table a layer."""

    per_layer = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(dims.context))

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        distance = (q_positions[:, None] - k_positions[None, :]).clamp_min(0)
        return self.table[distance].expand(n_heads, -1, -1)


class NormalizedBlock(nn.Module):
    """One norm shared by both sublayers, and a learned step for each of them."""

    final_norm = True

    def __init__(
        self, dims: Dims, attention: Maker, feed_forward: Maker, norm: Maker, residual: Maker
    ) -> None:
        super().__init__()
        self.mixer, self.fed, self.norm = attention(), feed_forward(), norm()
        self.sums = nn.ModuleList([residual(), residual()])
        self.steps = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        x = self.sums[0](x, self.steps[0] * self.mixer(self.norm(x), **mixing))
        y: Tensor = self.sums[1](x, self.steps[1] * self.fed(self.norm(x)))
        return y
