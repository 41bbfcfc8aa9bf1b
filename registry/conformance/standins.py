"""Plain neighbours for a component that is tried alone, one of each kind, from torch primitives.

Shapes: B batch, T tokens, D d_model, F hidden width, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry.contracts import Dims
from registry.errors import InvalidSpec


class Norm(nn.Module):
    """Root mean square 1, times a weight."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return F.rms_norm(x, x.shape[-1:], self.weight, 1e-5)


class Activation(nn.Module):
    """x · σ(x)."""

    gated: ClassVar[bool] = False

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """(…, F) → (…, F)."""
        return F.silu(x)


class GatedActivation(nn.Module):
    """silu(gate) · up."""

    gated: ClassVar[bool] = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """(…, F), (…, F) → (…, F)."""
        return F.silu(gate) * up


class FeedForward(nn.Module):
    """Two linear layers around an activation."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(dims.d_model, dims.d_ff), nn.Linear(dims.d_ff, dims.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        y: Tensor = self.down(F.silu(self.up(x)))
        return y


class Attention(nn.Module):
    """Adds to each token the mean of those up to it; remembers what else it was given."""

    position_hooks: ClassVar[bool] = False
    attention_dropout: ClassVar[bool] = False

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.past = nn.Linear(dims.d_model, dims.d_model)
        self.own = nn.Linear(dims.d_model, dims.d_model)
        self.given: list[dict[str, Any]] = []

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        self.given.append(mixing)
        counts = torch.arange(1, x.shape[1] + 1, device=x.device)[:, None]  # (T, 1)
        y: Tensor = self.own(x) + self.past(x.cumsum(1) / counts)
        return y


class Residual(nn.Module):
    """x + update."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    def forward(self, x: Tensor, update: Tensor) -> Tensor:
        """(B, T, D), (B, T, D) → (B, T, D)."""
        return x + update


class Rotating(nn.Module):
    """A position that rotates pairs of features, more so for a later token."""

    per_layer: ClassVar[bool] = False

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """q (B, H, T, C), k (B, K, T, C) at positions (T,) → the same shapes."""
        angles = 0.7 * positions.to(torch.promote_types(q.dtype, torch.float32))[:, None]  # (T, 1)
        return _turned(q, angles), _turned(k, angles)


class Biasing(nn.Module):
    """A position that lowers a score with the distance, in each head differently."""

    per_layer: ClassVar[bool] = False

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(H, Tq, Tk)."""
        slopes = torch.arange(1, n_heads + 1, device=q_positions.device) / n_heads  # (H,)
        distance = q_positions[:, None] - k_positions[None, :]  # (Tq, Tk)
        return -slopes[:, None, None] * distance


class Block(nn.Module):
    """A placement that only mixes tokens."""

    final_norm: ClassVar[bool] = True

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.attention = Attention(dims)

    def forward(self, x: Tensor, **mixing: Any) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        y: Tensor = x + self.attention(x, **mixing)
        return y


_CLASSES: dict[str, Callable[[Dims], nn.Module]] = {
    "norm": Norm,
    "activation": Activation,
    "feed_forward": FeedForward,
    "attention": Attention,
    "position": lambda dims: Rotating(),
    "residual": Residual,
    "placement": Block,
}


def stand_in(kind: str, dims: Dims, *, gated: bool = False) -> nn.Module:
    """A neighbour of that kind. Raises: InvalidSpec for a kind that no component may ask for."""
    if kind not in _CLASSES:
        raise InvalidSpec(f"no component is given a maker of {kind}s")
    return GatedActivation(dims) if gated and kind == "activation" else _CLASSES[kind](dims)


def _turned(x: Tensor, angles: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]  # (…, T, C / 2)
    cos, sin = angles.cos(), angles.sin()
    turned = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return torch.cat((turned.to(x.dtype), rest), dim=-1)
