"""Combinations that no class of theirs has, made of one that is near.

At position 0 a rotation turns nothing: what is added to the embeddings, or to the mask, then stands
in its place. A norm is a module that may be swapped for torch's own.

Shapes: B batch, T tokens, D width, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.oracles.oracle import CONTEXT, TOKENS, Oracle, Source, assert_equal
from tests.oracles.rotary import norm_biases, rotating
from tests.oracles.test_gpt_models import opt
from tests.oracles.test_parallel_models import neox
from tests.oracles.test_rmsnorm_models import LLAMA, described


class AtPositionZero(nn.Module):
    """A Llama that rotates nothing; it may add a learned table, or a bias to the scores."""

    def __init__(self, llama: nn.Module, *, learned: bool = False, bias: Tensor | None = None):
        super().__init__()
        self.llama = llama
        self.table = nn.Parameter(torch.empty(CONTEXT, 64)) if learned else None
        self.bias = bias  # (H, T, T)

    def forward(self, *, input_ids: Tensor, use_cache: bool) -> Tensor:
        """Token ids (B, T) → logits (B, T, V)."""
        x = self.llama.get_input_embeddings()(input_ids)  # (B, T, D)
        if self.table is not None:
            x = x + self.table[: x.shape[1]]
        unseen = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
        mask = torch.zeros(4, TOKENS, TOKENS, dtype=x.dtype) if self.bias is None else self.bias
        # Without a mask of their own, equal positions would be taken for sequences of one token.
        mask = mask.masked_fill(unseen, torch.finfo(x.dtype).min).expand(len(x), -1, -1, -1)
        logits: Tensor = self.llama(
            inputs_embeds=x,
            attention_mask=mask,
            position_ids=torch.zeros_like(input_ids),
            use_cache=use_cache,
        ).logits
        return logits


def slopes() -> Tensor:
    """What ALiBi adds to the scores of four heads, (4, T, T)."""
    positions = torch.arange(TOKENS, dtype=torch.float64)
    distance = positions[None, :] - positions[:, None]
    return torch.stack([2.0 ** (-2 * head) * distance for head in range(1, 5)])


def unrotated(name: str, position: str, kv_heads: int, **parts: Any) -> Oracle:
    weights = {name: _inside(source) for name, source in LLAMA.items()}
    if parts.get("learned"):
        weights["positions.0.table"] = "table"
    values = {"num_key_value_heads": kv_heads, "rms_norm_eps": 1e-6}

    def theirs() -> nn.Module:
        return AtPositionZero(rotating("Llama", **values), **parts)

    attention = {"gqa": {"n_kv_heads": kv_heads}}
    return Oracle(
        name=f"Llama, {name}, {kv_heads} kv",
        theirs=theirs,
        model=described(position=position, attention=attention),
        weights=weights,
    )


def _inside(source: Source) -> Source:
    if isinstance(source, str):
        return f"llama.{source}"
    assert isinstance(source, tuple)
    return tuple(f"llama.{name}" for name in source)


def with_norms(oracle: Oracle, make: Callable[[int], nn.Module], norm: Any, bias: bool) -> Oracle:
    """The same with other norms everywhere."""

    def theirs() -> nn.Module:
        model = oracle.theirs()
        for path, module in list(model.named_modules()):
            if "norm" in path.rpartition(".")[2] and not list(module.children()):
                parent, _, leaf = path.rpartition(".")
                setattr(model.get_submodule(parent), leaf, make(64))
        return model

    weights = {n: s for n, s in oracle.weights.items() if "norm.bias" not in n}
    if bias:
        weights |= norm_biases(weights)
    return Oracle(
        name=f"{oracle.name}, {norm}",
        theirs=theirs,
        model={**oracle.model, "norm": norm},
        weights=weights,
    )


def layer_norm(width: int) -> nn.Module:
    return nn.LayerNorm(width, eps=1e-5)


def rms_norm(width: int) -> nn.Module:
    return nn.RMSNorm(width, eps=1e-5)


def llama() -> Oracle:
    return Oracle(
        name="Llama",
        theirs=lambda: rotating("Llama", num_key_value_heads=2),
        model=described(),
        weights=LLAMA,
    )


ORACLES = [
    *(unrotated("no position", "none", kv_heads) for kv_heads in (1, 4)),
    *(unrotated("learned positions", "learned", kv_heads, learned=True) for kv_heads in (2, 4)),
    *(unrotated("ALiBi", "alibi", kv_heads, bias=slopes()) for kv_heads in (1, 2)),
    with_norms(llama(), layer_norm, "layernorm", bias=True),
    *(
        with_norms(
            opt(before=before, bias=True, activation="relu"), rms_norm, "rmsnorm", bias=False
        )
        for before in (True, False)
    ),
    *(
        with_norms(neox(parallel=parallel), rms_norm, "rmsnorm", bias=False)
        for parallel in (True, False)
    ),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_logits_gradients_and_decoding_are_those_of_transformers(oracle: Oracle) -> None:
    assert_equal(oracle)


def test_the_slopes_are_those_of_the_paper() -> None:
    assert [float(-bias[1, 0]) for bias in slopes()] == [2 ** (-8 * h / 4) for h in range(1, 5)]
    assert math.isclose(float(slopes()[0, 3, 1]), -0.5)
