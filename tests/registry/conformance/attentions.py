"""Attentions with one mistake each, as they are made when heads are split and merged by hand.

B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Dims


class Careful(nn.Module):
    """A plain attention, written out; what is wrong is changed in one place below."""

    position_hooks = False

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.h, self.c = dims.n_heads, dims.head_dim
        self.q = nn.Linear(dims.d_model, self.h * self.c)
        self.k = nn.Linear(dims.d_model, self.h * self.c, bias=False)
        self.v = nn.Linear(dims.d_model, self.h * self.c)
        self.out = nn.Linear(self.h * self.c, dims.d_model)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = self.compare(q, k) / self.c**0.5
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = self.hide(scores, mask).softmax(-1)
        y: Tensor = self.out(self.merge(weights @ v))
        return y

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, self.c)).transpose(1, 2)

    def compare(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT

    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(mask, -torch.inf)

    def merge(self, y: Tensor) -> Tensor:
        return y.transpose(1, 2).flatten(2)


class MergedWithoutTranspose(Careful):
    def merge(self, y: Tensor) -> Tensor:
        return y.flatten(2)


class MergedByView(Careful):
    def merge(self, y: Tensor) -> Tensor:
        b, h, t, c = y.shape
        return y.transpose(1, 2).view(b, t, h * c)


class MergedByReshape(Careful):
    """Has the right shape, and tokens mixed."""

    def merge(self, y: Tensor) -> Tensor:
        b, h, t, c = y.shape
        return y.reshape(b, t, h * c)


class SplitByReshape(Careful):
    """Has the right shape, and tokens mixed."""

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(len(x), self.h, -1, self.c)


class NeverTransposed(Careful):
    """Compares heads with heads instead of tokens with tokens."""

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, self.c))


class NeverTransposedNorMerged(NeverTransposed):
    """Its output has the right shape, so it would train, and mix no tokens."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (self.split(part(x)) for part in (self.q, self.k, self.v))
        y: Tensor = self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).flatten(2))
        return y


class NeverTransposedWithMask(NeverTransposed):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        t = scores.shape[1]
        return scores + torch.full((t, t), -torch.inf).triu(1)


class KeysNotTransposed(Careful):
    def compare(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k


class MaskOfSamples(Careful):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(mask.expand(len(scores), -1, -1), -torch.inf)


class MaskOfHeads(Careful):
    def hide(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores + torch.zeros(self.h, 1)


class SplitOfModel(Careful):
    """Takes d_model for heads times head_dim."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.q = nn.Linear(dims.d_model, dims.d_model)

    def split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.h, self.c).transpose(1, 2)


class OutOfModel(Careful):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.out = nn.Linear(dims.d_model, dims.d_model)


class NotProjectedBack(Careful):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.out = nn.Identity()  # type: ignore[assignment]


class FedHidden(Careful):
    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.q = nn.Linear(dims.d_ff, self.h * self.c)


class ValuesNotTransposed(Careful):
    def forward(self, x: Tensor) -> Tensor:
        q, k = self.split(self.q(x)), self.split(self.k(x))
        v = self.v(x).unflatten(-1, (self.h, self.c))
        y: Tensor = self.out(self.merge(self.compare(q, k).softmax(-1) @ v))
        return y


class Grouped(Careful):
    """Key/value heads of which each serves several query heads."""

    def __init__(self, dims: Dims, *, n_kv_heads: int = 2) -> None:
        super().__init__(dims)
        self.k = nn.Linear(dims.d_model, n_kv_heads * self.c)
        self.v = nn.Linear(dims.d_model, n_kv_heads * self.c)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.c)).transpose(1, 2)


class GroupedFused(Grouped):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        y: Tensor = self.out(self.merge(self.fused(q, k, v)))
        return y

    def fused(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class FusedMaskOfSamples(Careful):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        mask = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool).tril()
        y: Tensor = self.out(self.merge(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))
        return y


class Narrowed(Careful):
    """Gives one vector for all tokens, which a residual would broadcast."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1, keepdim=True)


class Pair(Careful):
    def forward(self, x: Tensor) -> Any:
        return x, x


class Nothing(Careful):
    def forward(self, x: Tensor) -> Any:
        return None
