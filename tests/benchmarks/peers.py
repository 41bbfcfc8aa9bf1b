"""One trial at initialization, as others would do it: built, passed forward and back, normed.

Shapes: B batch, T tokens, D d_model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True)
class Size:
    """What every contender builds: RMSNorm, SwiGLU, rotary multi-head attention, pre-norm."""

    d_model: int
    depth: int = 12
    tokens: int = 128
    vocab_size: int = 256

    @property
    def n_heads(self) -> int:
        """Heads of 64 features."""
        return self.d_model // 64

    @property
    def d_ff(self) -> int:
        """8/3 of the width, rounded up to a multiple of 8."""
        return -(-(8 * self.d_model) // 24) * 8


Trial = Callable[[int], object]
"""Carries out the trial of a seed."""


def peers(size: Size) -> Iterator[tuple[str, Trial]]:
    """The contenders that are installed, by name."""
    yield "bare", lambda seed: norms(_built(size, seed), size, seed)
    kept = _built(size, 0)
    yield "bare, weights reused", lambda seed: norms(kept, size, seed)
    yield "matrix products alone", _products(size)
    if importlib.util.find_spec("transformers") is not None:
        yield "transformers", _transformers(size)
    if importlib.util.find_spec("x_transformers") is not None:
        yield "x-transformers", _x_transformers(size)


def norms(model: nn.Module, size: Size, seed: int) -> list[Tensor]:
    """The gradient norm of each parameter, of the mean cross-entropy on random tokens."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(size.vocab_size, (1, size.tokens), generator=generator)
    model.zero_grad(set_to_none=True)
    logits = model(tokens)
    logits = getattr(logits, "logits", logits)
    F.cross_entropy(logits[0], tokens[0].roll(-1)).backward()
    found = [p.grad.norm() for p in model.parameters() if p.grad is not None]
    model.zero_grad(set_to_none=True)
    return found


class _Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        d, self.heads = size.d_model, size.n_heads
        self.first, self.second = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.gate, self.up = (nn.Linear(d, size.d_ff, bias=False) for _ in range(2))
        self.down = nn.Linear(size.d_ff, d, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        b, t, d = x.shape
        qkv = self.qkv(self.first(x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))  # (B, H, T, C)
        q, k = q * cos + _turned(q) * sin, k * cos + _turned(k) * sin
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, d))
        y = self.second(x)
        update: Tensor = self.down(F.silu(self.gate(y)) * self.up(y))
        return x + update


class _Bare(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size.vocab_size, size.d_model)
        self.blocks = nn.ModuleList(_Block(size) for _ in range(size.depth))
        self.norm = nn.RMSNorm(size.d_model)
        self.head = nn.Linear(size.d_model, size.vocab_size, bias=False)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)
        steps = torch.arange(0, 64, 2) / 64
        angles = torch.arange(size.tokens)[:, None] * 10000.0**-steps  # (T, C / 2)
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits: Tensor = self.head(self.norm(x))
        return logits


def _turned(x: Tensor) -> Tensor:
    one, other = x.chunk(2, dim=-1)
    return torch.cat((-other, one), dim=-1)


def _built(size: Size, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return _Bare(size)


def _products(size: Size) -> Trial:
    """The products of a forward and a backward pass, and nothing between them."""
    d, t = size.d_model, size.tokens
    shapes = [(d, 3 * d), (d, d), (d, size.d_ff), (d, size.d_ff), (size.d_ff, d)]
    weights = [torch.randn(one, other) for one, other in shapes]
    rows = {width: torch.randn(t, width) for width in {d, 3 * d, size.d_ff}}
    head, logits = torch.randn(d, size.vocab_size), torch.randn(t, size.vocab_size)

    def triple(x: Tensor, weight: Tensor, gradient: Tensor) -> None:
        x @ weight
        gradient @ weight.T
        x.T @ gradient

    def trial(seed: int) -> None:
        for _ in range(size.depth):
            for weight in weights:
                triple(rows[weight.shape[0]], weight, rows[weight.shape[1]])
        triple(rows[d], head, logits)

    return trial


def _transformers(size: Size) -> Trial:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=size.vocab_size,
        hidden_size=size.d_model,
        intermediate_size=size.d_ff,
        num_hidden_layers=size.depth,
        num_attention_heads=size.n_heads,
        max_position_embeddings=size.tokens,
        use_cache=False,
    )

    def trial(seed: int) -> object:
        torch.manual_seed(seed)
        return norms(LlamaForCausalLM(config), size, seed)

    return trial


def _x_transformers(size: Size) -> Trial:
    from x_transformers import Decoder, TransformerWrapper

    def trial(seed: int) -> object:
        torch.manual_seed(seed)
        model = TransformerWrapper(
            num_tokens=size.vocab_size,
            max_seq_len=size.tokens,
            use_abs_pos_emb=False,
            attn_layers=Decoder(
                dim=size.d_model,
                depth=size.depth,
                heads=size.n_heads,
                attn_dim_head=64,
                attn_flash=True,
                rotary_pos_emb=True,
                use_rmsnorm=True,
                ff_swish=True,
                ff_glu=True,
                ff_mult=size.d_ff / size.d_model,
                ff_no_bias=True,
            ),
        )
        return norms(model, size, seed)

    return trial
