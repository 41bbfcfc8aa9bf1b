"""Caches: decoding token by token, what they count, what a window keeps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.components.makers import (
    ATTENTIONS,
    POSITIONS,
    Choice,
    build,
    embedded,
    label,
    randomize,
    tokens,
)
from tests.components.test_attention import HEAD_DIM, HEADS, KV_HEADS, WIDTH, attention


@pytest.mark.parametrize("chunks", [[1] * 9, [9], [4, 1, 1, 3], [2, 7]], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"window": 3}, {"qk_norm": "per_head"}, {"softcap": 0.8, "window": 3}],
    ids=str,
)
@pytest.mark.parametrize("place", POSITIONS, ids=label)
@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_decoding_with_a_cache_equals_the_full_pass(
    choice: Choice, place: Choice, options: dict[str, Any], chunks: list[int]
) -> None:
    module = attention(choice, **options)
    position = randomize(build("position", place))
    x = embedded(position, tokens(2, 9, WIDTH))
    cache = module.new_cache()
    parts = []
    for chunk in torch.split(x, chunks, dim=1):
        parts.append(module(chunk, position=position, cache=cache))
    expected = module(x, position=position)
    torch.testing.assert_close(torch.cat(parts, 1), expected, rtol=0, atol=1e-12)
    assert cache.length == 9


@pytest.mark.parametrize("choice", ATTENTIONS, ids=label)
def test_a_cache_counts_its_tokens_and_bytes(choice: Choice) -> None:
    n_kv_heads = KV_HEADS[label(choice).split("-")[0]]
    module = attention(choice, dtype=torch.float32)
    cache = module.new_cache()
    assert (cache.length, cache.nbytes) == (0, 0)
    for length in range(1, 6):
        module(tokens(3, 1, WIDTH, dtype=torch.float32), cache=cache)
        assert cache.length == length
        assert cache.nbytes == 2 * 3 * n_kv_heads * length * HEAD_DIM * 4


def test_a_window_bounds_the_cache() -> None:
    module = attention("mha", window=3)
    cache = module.new_cache()
    for _ in range(9):
        module(tokens(1, 1, WIDTH), cache=cache)
    assert cache.length == 9
    assert cache.nbytes == 2 * 2 * HEADS * HEAD_DIM * 8  # the last two tokens, in float64
