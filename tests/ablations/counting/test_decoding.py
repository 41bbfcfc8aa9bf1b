"""Caches and parameters read, against published figures and closed forms."""

import pytest
import torch
from torch import nn

from ablations.counting.decoding import cache_bytes, parameters_read
from ablations.decoder import build_decoder, skeleton
from registry import Incompatible
from tests.ablations.decoders import small, tokens


def cached(length, batch=1, dtype=torch.bfloat16, **model):
    return cache_bytes(skeleton(small(**model)).to(dtype), batch=batch, length=length)


@pytest.mark.parametrize(
    ("depth", "n_heads", "n_kv_heads", "head_dim", "per_token"),
    [
        (12, 12, 12, 64, 36_864),  # GPT-2 small
        (12, 12, 1, 64, 3_072),  # the same with one key/value head
        (32, 32, 32, 128, 524_288),  # Llama-2-7B
        (32, 32, 8, 128, 131_072),  # Llama-3-8B
    ],
)
def test_cache_of_published_models(depth, n_heads, n_kv_heads, head_dim, per_token):
    model = {
        "depth": depth,
        "d_model": n_heads * head_dim,
        "n_heads": n_heads,
        "attention": {"gqa": {"n_kv_heads": n_kv_heads}},
    }
    assert cached(1, **model) == per_token
    assert cached(10, **model) == 10 * per_token


@pytest.mark.parametrize("position", ["learned", "rope", "alibi"])
@pytest.mark.parametrize("attention", ["mha", "mqa", {"mha": {"window": 5}}])
def test_the_cache_is_a_real_ones(attention, position):
    model = {"attention": attention, "position": position}
    decoder = build_decoder(small(**model)).eval()
    caches = decoder.new_caches()
    decoder(tokens(2, 13), caches=caches)
    found = cached(13, batch=2, dtype=torch.float32, **model)
    assert found == sum(cache.nbytes for cache in caches) > 0


def test_a_window_bounds_the_cache():
    at = [cached(length, attention={"mha": {"window": 5}}) for length in (2, 4, 5, 16)]
    token = 3 * 2 * 32 * 2
    assert at == [2 * token, 4 * token, 4 * token, 4 * token]


def test_without_a_cache_nothing_is_guessed():
    with pytest.raises(Incompatible, match=r"^attention 'mean' has no cache$"):
        cached(4, attention="mean")


def total(decoder):
    return sum(parameter.numel() for parameter in decoder.parameters())


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"attention": {"mha": {"qkv": "separate"}}, "norm": "rmsnorm"},
        {"residual": {"scaled": {"per_channel": True}}, "activation": "swiglu"},
        {"placement": "deepnorm", "bias": {"head": True}},
    ],
    ids=str,
)
def test_a_token_reads_all_but_the_rows_of_others(model):
    decoder = skeleton(small(**model))
    tables = 64 * 32 + 16 * 32  # token and position embeddings
    assert parameters_read(decoder) == total(decoder) - tables + 2 * 32


def test_a_tied_head_is_read_whole_and_a_row_of_it_again():
    decoder = skeleton(small(tie_embeddings=True))
    assert parameters_read(decoder) == total(decoder) - 16 * 32 + 2 * 32


def test_shared_blocks_are_read_each_time():
    assert parameters_read(skeleton(small(depth=4, share_layers=2))) == parameters_read(
        skeleton(small(depth=4))
    )


class Experts(nn.Module):
    """Picks one of four matrices for a token, by looking it up."""

    def __init__(self):
        super().__init__()
        self.matrices = nn.Parameter(torch.empty(4, 32, 32))

    def forward(self, x):
        chosen = torch.zeros(x.shape[:2], dtype=torch.long, device=x.device)
        return (x[..., None, :] @ self.matrices[chosen]).squeeze(-2)


def test_of_experts_those_that_are_picked_are_read():
    decoder = skeleton(small(depth=1))
    before = parameters_read(decoder)
    own = sum(p.numel() for p in decoder.blocks[0].feed_forward.parameters())
    with torch.device("meta"):
        decoder.blocks[0].feed_forward = Experts()
    assert parameters_read(decoder) == before - own + 32 * 32
