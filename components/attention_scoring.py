"""How queries look at keys: which of them they see, and with what weights.

Shapes: B batch, T queries, S keys, H heads, K key/value heads, C head_dim. Each key/value head
serves H / K neighbouring query heads.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Scores s = scale · q kᵀ, with a `softcap` c bounded to c · tanh(s / c), plus a bias.

    A causal query sees no later key, one with a `window` none at that distance or further.
    """

    scale: float
    softcap: float | None = None
    window: int | None = None
    causal: bool = True

    def scores(
        self, q: Tensor, k: Tensor, bias: Tensor | None, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        """q (B, H, T, C), k (B, K, S, C), bias (H, T, S) → (B, H, T, S), −inf for what is unseen.

        Computed in float32, or in float64 for float64 input.
        """
        dtype = torch.promote_types(q.dtype, torch.float32)
        k = _for_each_head(k, q.shape[1])
        scores = q.to(dtype) @ k.to(dtype).transpose(-1, -2) * self.scale  # (B, H, T, S)
        if self.softcap is not None:
            scores = self.softcap * (scores / self.softcap).tanh()
        if bias is not None:
            scores = scores + bias.to(dtype)
        return scores.masked_fill(~self.visible(q_positions, k_positions), -torch.inf)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        q_positions: Tensor,
        k_positions: Tensor,
        *,
        dropout: float = 0.0,
    ) -> Tensor:
        """Values weighted: q, k and bias as for `scores`, v (B, K, S, C) → (B, H, T, C)."""
        heads, kv_heads = q.shape[1], k.shape[1]
        if self.softcap is not None:  # which torch's fused attention does not know
            scores = self.scores(q, k, bias, q_positions, k_positions)
            weights = F.dropout(scores.softmax(dim=-1), dropout).to(v.dtype)
            return weights @ _for_each_head(v, heads)
        # Torch aligns its own causal mask top left, which is right for square scores alone.
        square = len(q_positions) == len(k_positions)
        plain = bias is None and self.window is None and (square or not self.causal)
        mask = None
        if not plain:
            mask = self.visible(q_positions, k_positions)
            if bias is not None:
                mask = bias.to(q.dtype).masked_fill(~mask, -torch.inf)
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            dropout_p=dropout,
            is_causal=self.causal and mask is None,
            scale=self.scale,
            enable_gqa=heads != kv_heads,
        )

    def visible(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """Which keys (S,) a query (T,) sees: (T, S)."""
        distance = q_positions[:, None] - k_positions[None, :]  # (T, S)
        visible = distance >= 0 if self.causal else torch.ones_like(distance, dtype=torch.bool)
        return visible if self.window is None else visible & (distance.abs() < self.window)


def _for_each_head(part: Tensor, heads: int) -> Tensor:
    """(B, K, S, C) → (B, H, S, C)."""
    return part.repeat_interleave(heads // part.shape[1], dim=1)
