"""Attention: multi-head, grouped-query and multi-query, as one implementation.

Shapes: B batch, T tokens, S tokens held by a cache, D d_model, H heads, K key/value heads,
C head_dim. Each key/value head serves H / K neighbouring query heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from annotated_types import Gt
from torch import Tensor, nn

from components.attention_cache import KeyValueCache
from components.attention_scoring import Scoring
from components.norms import NoNorm
from registry import Dims, Incompatible, Maker, ParameterRole
from registry.contracts import Position

QKNorm = Literal["none", "per_head", "full_width"]
Scale = Annotated[float, Gt(0)] | Literal["none"] | None
Projection = Literal["fused", "separate"]
SoftCap = Annotated[float, Gt(0)] | None
Window = Annotated[int, Gt(0)] | None


class Attention(nn.Module):
    """Scaled dot-product attention; its subclasses choose K.

    softmax(scale · q kᵀ + bias + mask) v, heads concatenated and projected. (B, T, D) → (B, T, D).

    Options: `qk_norm` normalizes q and k before they are rotated, over each head's features or
    over all heads' (arXiv:2010.04245); `scale` is 1/sqrt(C) by default, `none` leaves scores as
    they are; `softcap` c bounds scaled scores s, before bias and mask, to c · tanh(s / c)
    (arXiv:2408.00118); with `window` a token sees itself and the window - 1 tokens before it
    (arXiv:2004.05150); `causal=False` lets a token see later ones too, for experiments;
    `qkv="separate"` computes q, k and v by a product each, with the same weights, not by one.

    Initialization: weights by the initializer, q, k and v apart (roles `q`, `k`, `v`,
    `attention_output`), biases zero.
    """

    position_hooks: ClassVar[bool] = True
    attention_dropout: ClassVar[bool] = True

    def __init__(
        self,
        dims: Dims,
        norm: Maker,
        *,
        qk_norm: QKNorm = "none",
        scale: Scale = None,
        softcap: SoftCap = None,
        window: Window = None,
        causal: bool = True,
        qkv: Projection = "fused",
    ) -> None:
        super().__init__()
        self.n_heads, self.head_dim = dims.n_heads, dims.head_dim
        self.n_kv_heads = self._kv_heads(dims)
        if self.n_heads % self.n_kv_heads:
            raise Incompatible(
                f"n_kv_heads must divide n_heads: got {self.n_kv_heads} and {self.n_heads}"
            )
        if window is not None and window >= dims.context:
            raise Incompatible(
                "a window must be shorter than the context, or it has no effect: got "
                f"{window} and {dims.context}"
            )
        self.scoring = Scoring(
            scale=dims.head_dim**-0.5 if scale is None else 1.0 if scale == "none" else scale,
            softcap=softcap,
            window=window,
            causal=causal,
        )
        self.dropout = dims.attention_dropout

        self.widths = [heads * dims.head_dim for heads in self._heads]  # of q, k and v
        self.fused = qkv == "fused"
        if self.fused:
            self.qkv = nn.Linear(dims.d_model, sum(self.widths), bias=dims.qkv_bias)
        else:
            self.q, self.k, self.v = (
                nn.Linear(dims.d_model, width, bias=dims.qkv_bias) for width in self.widths
            )
        self.out = nn.Linear(self.widths[0], dims.d_model, bias=dims.out_bias)
        for layer in self.children():
            if isinstance(layer, nn.Linear) and layer.bias is not None:
                nn.init.zeros_(layer.bias)

        self.qk_norm = qk_norm
        if qk_norm != "none":
            per_head = qk_norm == "per_head"
            q_width, k_width = (dims.head_dim,) * 2 if per_head else self.widths[:2]
            self.q_norm = norm(dims.resized(d_model=q_width))
            self.k_norm = norm(dims.resized(d_model=k_width))
            if isinstance(self.q_norm, NoNorm):
                raise Incompatible(f"qk_norm {qk_norm!r} has no effect: the model's norm is 'none'")

    def forward(
        self, x: Tensor, *, position: Position | None = None, cache: KeyValueCache | None = None
    ) -> Tensor:
        start = cache.length if cache is not None else 0
        q, k, v, positions = self._project(x, position, start)
        k_positions = positions
        if cache is not None:
            k, v = cache.extend(k, v)  # (B, K, S + T, C)
            k_positions = torch.arange(cache.length - k.shape[-2], cache.length, device=x.device)
        bias = self._bias(position, positions, k_positions)
        dropout = self.dropout if self.training else 0.0
        y = self.scoring.attend(q, k, v, bias, positions, k_positions, dropout=dropout)
        y = y.transpose(1, 2).flatten(2)  # (B, H, T, C) → (B, T, H * C)
        projected: Tensor = self.out(y)  # (B, T, D)
        return projected

    def weights(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → probabilities (B, H, T, T), softmax in float32 or better, no dropout."""
        return self.scores(x, position=position).softmax(dim=-1)

    def scores(self, x: Tensor, *, position: Position | None = None) -> Tensor:
        """x (B, T, D) → scaled scores (B, H, T, T), −inf where a query may not look."""
        q, k, _, positions = self._project(x, position, 0)
        bias = self._bias(position, positions, positions)
        return self.scoring.scores(q, k, bias, positions, positions)

    def new_cache(self) -> KeyValueCache:
        """An empty cache. Raises: Incompatible without a causal mask, as tokens to come matter."""
        if not self.scoring.causal:
            raise Incompatible("a cache needs causal attention: got causal=False")
        window = self.scoring.window
        return KeyValueCache(keep=None if window is None else window - 1)

    def parameter_roles(self) -> Mapping[str, ParameterRole | Sequence[ParameterRole]]:
        q, k, v = self.widths
        roles: dict[str, ParameterRole | Sequence[ParameterRole]] = {
            "out.weight": ParameterRole(role="attention_output")
        }
        if self.fused:
            roles["qkv.weight"] = [
                ParameterRole(role="q", rows=(0, q)),
                ParameterRole(role="k", rows=(q, q + k)),
                ParameterRole(role="v", rows=(q + k, q + k + v)),
            ]
        else:
            roles |= {f"{part}.weight": ParameterRole(role=part) for part in "qkv"}
        if self.fused and self.qkv.bias is not None:
            roles["qkv.bias"] = [
                ParameterRole(role="bias", rows=(0, q)),
                ParameterRole(role="key_bias", rows=(q, q + k)),
                ParameterRole(role="bias", rows=(q + k, q + k + v)),
            ]
        elif not self.fused and self.q.bias is not None:
            biases = {"q.bias": "bias", "k.bias": "key_bias", "v.bias": "bias"}
            roles |= {name: ParameterRole(role=role) for name, role in biases.items()}
        if self.out.bias is not None:
            roles["out.bias"] = ParameterRole(role="bias")
        return roles

    def extra_repr(self) -> str:
        return (
            f"n_heads={self.n_heads}, n_kv_heads={self.n_kv_heads}, head_dim={self.head_dim}, "
            f"qk_norm={self.qk_norm!r}, {self.scoring}, "
            f"fused={self.fused}"
        )

    def _kv_heads(self, dims: Dims) -> int:
        raise NotImplementedError

    @property
    def _heads(self) -> tuple[int, int, int]:
        return self.n_heads, self.n_kv_heads, self.n_kv_heads

    def _project(
        self, x: Tensor, position: Position | None, start: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """q (B, H, T, C), k and v (B, K, T, C), normalized and rotated, and positions (T,)."""
        positions = torch.arange(start, start + x.shape[1], device=x.device)
        if self.fused:
            q, k, v = self.qkv(x).split(self.widths, dim=-1)
        else:
            q, k, v = self.q(x), self.k(x), self.v(x)
        if self.qk_norm == "full_width":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (
            part.unflatten(-1, (heads, self.head_dim)).transpose(1, 2)  # (B, heads, T, C)
            for part, heads in zip((q, k, v), self._heads, strict=True)
        )
        if self.qk_norm == "per_head":
            q, k = _norm_heads(self.q_norm, q), _norm_heads(self.k_norm, k)
        rotate = getattr(position, "rotate", None)
        if rotate is not None:
            q, k = rotate(q, k, positions)
        return q, k, v, positions

    def _bias(
        self, position: Position | None, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor | None:
        """What a position adds to the scores, (H, T, S + T)."""
        bias = getattr(position, "bias", None)
        return None if bias is None else bias(self.n_heads, q_positions, k_positions)


class MultiHeadAttention(Attention):
    """Attention in which every query head has a key/value head of its own, K = H.

    softmax(scale · q kᵀ + bias + mask) v, heads concatenated and projected. (B, T, D) → (B, T, D).

    Initialization and options: as `Attention`.
    Paper: arXiv:1706.03762. Deviation: head_dim need not be D / H; biases, if asked for.
    """

    def _kv_heads(self, dims: Dims) -> int:
        return dims.n_heads


class MultiQueryAttention(Attention):
    """Attention in which all query heads share one key/value head, K = 1.

    softmax(scale · q kᵀ + bias + mask) v, heads concatenated and projected. (B, T, D) → (B, T, D).

    Initialization and options: as `Attention`.
    Paper: arXiv:1911.02150. Deviation: none.
    """

    def _kv_heads(self, dims: Dims) -> int:
        return 1


class GroupedQueryAttention(Attention):
    """Attention in which H / K neighbouring query heads share a key/value head.

    softmax(scale · q kᵀ + bias + mask) v, heads concatenated and projected. (B, T, D) → (B, T, D).
    Query head h reads key/value head floor(h · K / H).

    Initialization and options: as `Attention`; `n_kv_heads` must divide n_heads.
    Paper: arXiv:2305.13245. Deviation: trained from scratch, where the paper pools the heads of a
    trained model.
    """

    def __init__(
        self,
        dims: Dims,
        norm: Maker,
        *,
        n_kv_heads: Annotated[int, Gt(0)],
        qk_norm: QKNorm = "none",
        scale: Scale = None,
        softcap: SoftCap = None,
        window: Window = None,
        causal: bool = True,
        qkv: Projection = "fused",
    ) -> None:
        super().__init__(
            dims.resized(n_kv_heads=n_kv_heads),
            norm,
            qk_norm=qk_norm,
            scale=scale,
            softcap=softcap,
            window=window,
            causal=causal,
            qkv=qkv,
        )

    def _kv_heads(self, dims: Dims) -> int:
        return dims.n_kv_heads


def _norm_heads(norm: nn.Module, x: Tensor) -> Tensor:
    """Apply a norm of width C to (B, heads, T, C), as to heads · T tokens."""
    y: Tensor = norm(x.flatten(1, 2))  # (B, heads * T, C)
    return y.view_as(x)
