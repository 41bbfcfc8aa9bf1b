"""Positions: how a model learns where a token stands.

Shapes: B batch, T tokens (Tq queries, Tk keys), D d_model, H heads, K key/value heads, C head_dim.
A position has no forward; it offers the hooks `embed`, `rotate` or `bias`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn

from registry import Dims, Incompatible, ParameterRole

Offset = Annotated[int, Ge(0)]
Stretch = tuple[Annotated[float, Gt(1)], Annotated[int, Gt(0)]] | None
TURNS_KEPT = 4
"""Pairs that turn so often in the tokens trained on are not stretched."""


class _Position(nn.Module):
    """One module for all blocks."""

    per_layer: ClassVar[bool] = False

    def __init__(self, dims: Dims) -> None:
        super().__init__()


class NoPosition(_Position):
    """Tells the model nothing; a causal mask alone breaks the symmetry.

    x → x. Shapes: no hook. Initialization: no parameters. Paper: arXiv:2305.19466. Deviation: none.
    """


class Learned(_Position):
    """Adds a learned vector for each position.

    y_t = x_t + table_(t + offset), table (context + offset, D). (B, T, D) → (B, T, D). The first
    `offset` rows are never read: OPT (arXiv:2205.01068) has two of them, left over from padding.

    Initialization: by the initializer (role `position_embedding`).
    Paper: arXiv:1705.03122. Deviation: none. A position past the table raises ValueError.
    """

    def __init__(self, dims: Dims, *, offset: Offset = 0) -> None:
        super().__init__(dims)
        rows = dims.context + offset
        self.offset = offset
        self.table = nn.Parameter(torch.empty(rows, dims.d_model))
        nn.init.normal_(self.table, 0.0, 0.02)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        context = len(self.table) - self.offset
        # A meta tensor has no values to look at, but its length says as much.
        needed = positions.numel()
        if needed and not positions.is_meta:
            needed = int(positions.max()) + 1
        if needed > context:
            raise ValueError(
                f"learned positions end with the context: expected at most {context} tokens, "
                f"got {needed}"
            )
        return x + F.embedding(positions + self.offset, self.table)  # (T, D) over the batch

    def parameter_roles(self) -> Mapping[str, ParameterRole]:
        return {"table": ParameterRole(role="position_embedding")}

    def extra_repr(self) -> str:
        return f"offset={self.offset}"


class Sinusoidal(_Position):
    """Adds sines and cosines of the position, at wavelengths from 2π to 20000π.

    y_t = x_t + amplitude · s_(t + offset), with s_t[2i] = sin(t / 10000^(2i/D)) and
    s_t[2i+1] = cos(t / 10000^(2i/D)). `layout: halves` is that of the paper's released code
    (tensor2tensor), with n = D // 2: s_t[i] = sin(t / 10000^(i/(n-1))), s_t[n+i] the cosine, and a
    last zero for an odd D; XGLM (arXiv:2112.10668) has it, with an offset of 2.
    (B, T, D) → (B, T, D), any T. Computed in float32 or better.

    Initialization: a buffer `amplitude`; without the option it is set by `calibrate` so that the
    table over the context has the root mean square of the token embeddings (until then 1).
    Paper: arXiv:1706.03762. Deviation: the paper has amplitude 1 and multiplies the embeddings by
    sqrt(D); here the sinusoids would otherwise drown small embeddings.
    """

    amplitude: Tensor

    def __init__(
        self,
        dims: Dims,
        *,
        amplitude: Annotated[float, Gt(0)] | None = None,
        layout: Literal["pairs", "halves"] = "pairs",
        offset: Offset = 0,
    ) -> None:
        super().__init__(dims)
        if layout == "halves" and dims.d_model < 4:
            raise Incompatible(f"layout 'halves' needs at least 4 features: got {dims.d_model}")
        self.d_model = dims.d_model
        self.context = dims.context
        self.layout = layout
        self.offset = offset
        self.calibrated = amplitude is None
        start = 1.0 if amplitude is None else float(amplitude)
        self.register_buffer("amplitude", torch.full((), start))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        dtype = torch.promote_types(x.dtype, torch.float32)
        table = self._table(positions.to(dtype)) * self.amplitude.to(dtype)
        return x + table.to(x.dtype)  # (T, D) over the batch

    @torch.no_grad()
    def calibrate(self, embedding_rms: float) -> None:
        if self.calibrated:
            table = self._table(torch.arange(self.context, dtype=torch.float64))
            self.amplitude.fill_(embedding_rms / float(table.square().mean().sqrt()))

    def _table(self, positions: Tensor) -> Tensor:
        counted = positions[:, None] + self.offset  # (T, 1)
        if self.layout == "halves":
            half = self.d_model // 2
            steps = torch.arange(half, dtype=positions.dtype, device=positions.device)
            angles = counted * 10000.0 ** (-steps / (half - 1))  # (T, D // 2)
            table = torch.cat((angles.sin(), angles.cos()), dim=-1)
            return F.pad(table, (0, self.d_model % 2))  # (T, D)
        even = torch.arange(0, self.d_model, 2, dtype=positions.dtype, device=positions.device)
        angles = counted * 10000.0 ** (-even / self.d_model)  # (T, ceil(D / 2))
        pairs = torch.stack((angles.sin(), angles.cos()), dim=-1)
        return pairs.flatten(1)[:, : self.d_model]  # (T, D)

    def extra_repr(self) -> str:
        return f"layout={self.layout!r}, offset={self.offset}"


class Rotary(_Position):
    """Rotates pairs of query and key features by angles that grow with the position (RoPE).

    (a, b) → (a cos φ - b sin φ, a sin φ + b cos φ), φ = t · theta^(-2i/R) for pair i of R rotated
    features: scores depend on offsets alone. The first R = fraction · C features are rotated, the
    others pass. `halves` pairs feature i with i + R/2, `pairs` pairs 2i with 2i + 1.
    `stretch: [s, n]` is for contexts beyond the n tokens that a model was first trained on (Llama
    3.1, arXiv:2407.21783): pairs that turn less than once in n tokens turn s times as slowly, those
    that turn four times or more as before, and those between by a mean of both.
    q (B, H, T, C), k (B, K, T, C) → the same shapes, any T. Computed in float32, or in float64 for
    float64 input; the results have the dtypes of q and k.

    Initialization: no parameters, nothing stored.
    Paper: arXiv:2104.09864. Deviation: the paper pairs neighbours (`pairs`) and rotates all
    features; `halves` is the same up to a permutation of the features.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        theta: Annotated[float, Gt(0)] = 10000.0,
        fraction: Annotated[float, Gt(0), Le(1)] = 1.0,
        style: Literal["halves", "pairs"] = "halves",
        stretch: Stretch = None,
    ) -> None:
        super().__init__(dims)
        self.theta = theta
        self.fraction = fraction
        self.style = style
        self.stretch = stretch
        self._rotated(dims.head_dim)  # raises Incompatible before anything runs

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        rotated = self._rotated(q.shape[-1])
        dtype = torch.promote_types(q.dtype, torch.float32)
        even = torch.arange(0, rotated, 2, dtype=dtype, device=positions.device)
        angles = positions.to(dtype)[:, None] * self._stretched(self.theta ** (-even / rotated))
        cos, sin = angles.cos(), angles.sin()  # (T, R / 2)
        return self._turn(q, cos, sin, rotated), self._turn(k, cos, sin, rotated)

    def _stretched(self, frequencies: Tensor) -> Tensor:
        """Radians a token, (R / 2,), the slow ones slower."""
        if self.stretch is None:
            return frequencies
        factor, trained = self.stretch
        turns = trained * frequencies / (2 * math.pi)
        kept = ((turns - 1) / (TURNS_KEPT - 1)).clamp(0, 1)
        return frequencies * (kept + (1 - kept) / factor)

    def _turn(self, x: Tensor, cos: Tensor, sin: Tensor, rotated: int) -> Tensor:
        if self.style == "halves":
            a, b = x[..., : rotated // 2], x[..., rotated // 2 : rotated]  # (…, T, R / 2)
        else:
            a, b = x[..., 0:rotated:2], x[..., 1:rotated:2]  # (…, T, R / 2)
        turned = (a * cos - b * sin, a * sin + b * cos)
        if self.style == "halves":
            y = torch.cat(turned, dim=-1)  # (…, T, R)
        else:
            y = torch.stack(turned, dim=-1).flatten(-2)  # (…, T, R)
        return torch.cat((y.to(x.dtype), x[..., rotated:]), dim=-1)  # (…, T, C)

    def _rotated(self, width: int) -> int:
        exact = self.fraction * width
        rotated = round(exact)
        if abs(exact - rotated) > 1e-6 or rotated < 2 or rotated % 2:
            raise Incompatible(
                "rope rotates an even number of features, at least 2: got "
                f"{exact:g} (fraction {self.fraction:g} of head_dim {width})"
            )
        return rotated

    def extra_repr(self) -> str:
        return (
            f"theta={self.theta:g}, fraction={self.fraction:g}, style={self.style!r}, "
            f"stretch={self.stretch}"
        )


class ALiBi(_Position):
    """Lowers a score in proportion to the distance between query and key.

    bias[h, q, k] = slope_h · (k - q); for H a power of two slope_h = 2^(-8h/H), h = 1 … H. For
    other H, with P the power of two below: the slopes of P heads, then the 1st, 3rd, 5th … of 2P.
    With `scaled` the bias is divided by sqrt(C), as the scores are: Falcon (arXiv:2306.01116) adds
    it to scores before it scales both.
    Positions (Tq,), (Tk,) → (H, Tq, Tk), in float64 (float32 where the device lacks it).

    Initialization: no parameters.
    Paper: arXiv:2108.12409, with its released recipe for other numbers of heads. Deviation: none.
    """

    def __init__(self, dims: Dims, *, scaled: bool = False) -> None:
        super().__init__(dims)
        self.factor = dims.head_dim**-0.5 if scaled else 1.0

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        device = q_positions.device
        dtype = torch.float32 if device.type == "mps" else torch.float64
        slopes = torch.tensor(_slopes(n_heads), dtype=dtype, device=device) * self.factor
        distance = (k_positions[None, :] - q_positions[:, None]).to(dtype)  # (Tq, Tk)
        return slopes[:, None, None] * distance  # (H, Tq, Tk)


def _slopes(n_heads: int) -> list[float]:
    power = 2 ** math.floor(math.log2(n_heads))
    slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2 ** (-8 * head / (2 * power)) for head in range(1, 2 * power, 2)]
    return slopes + between[: n_heads - power]
