"""A correct attention that offers everything, as a stranger writes it; faulty ones derive from it.

B batch, T new tokens, S tokens held, H heads, C head_dim.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Dims


class Held:
    """Keys and values, (B, H, S, C)."""

    __slots__ = ("kv", "length")

    def __init__(self) -> None:
        self.kv: list[Tensor] = []
        self.length = 0

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.kv)

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.length += k.shape[2]
        new = [k.contiguous(), v.contiguous()]
        self.kv = (
            [torch.cat(pair, 2) for pair in zip(self.kv, new, strict=True)] if self.kv else new
        )
        return self.kv[0], self.kv[1]


class Capable(nn.Module):
    position_hooks = True
    attention_dropout = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.h, self.c = dims.n_heads, dims.head_dim
        self.p = dims.attention_dropout
        self.q = nn.Linear(dims.d_model, self.h * self.c)
        self.k = nn.Linear(dims.d_model, self.h * self.c)
        self.v = nn.Linear(dims.d_model, self.h * self.c)
        self.out = nn.Linear(self.h * self.c, dims.d_model)

    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        q, k, places = self.compared(x, position, cache.length if cache is not None else 0)
        v = self.split(self.v(x))
        if cache is not None:
            k, v = cache.extend(k, v)
        weights = self.masked(q, k, position, places).softmax(-1)
        y = F.dropout(weights, self.p, self.training) @ v  # (B, H, T, C)
        projected: Tensor = self.out(y.transpose(1, 2).flatten(2))
        return projected

    def weights(self, x: Tensor, *, position: Any = None) -> Tensor:
        return self.scores(x, position=position).softmax(-1)

    def scores(self, x: Tensor, *, position: Any = None) -> Tensor:
        q, k, places = self.compared(x, position, 0)
        return self.masked(q, k, position, places)

    def new_cache(self) -> Any:
        return Held()

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, self.c)).transpose(1, 2)

    def compared(self, x: Tensor, position: Any, start: int) -> tuple[Tensor, Tensor, Tensor]:
        places = torch.arange(start, start + x.shape[1])
        q, k = self.split(self.q(x)), self.split(self.k(x))
        rotate = getattr(position, "rotate", None)
        if rotate is not None:
            q, k = rotate(q, k, places)
        return q, k, places

    def masked(self, q: Tensor, k: Tensor, position: Any, places: Tensor) -> Tensor:
        scores = q @ k.mT / self.c**0.5
        seen = torch.arange(k.shape[2])
        bias = getattr(position, "bias", None)
        if bias is not None:
            scores = scores + bias(self.h, places, seen).to(scores.dtype)
        return scores.masked_fill(self.hidden(places, seen), -torch.inf)

    def hidden(self, places: Tensor, seen: Tensor) -> Tensor:
        return places[:, None] < seen[None, :]
