"""Parameter counts against closed forms that know nothing of the modules."""

import itertools

import pytest

from ablations.measures.parameters import Parameters
from ablations.trial import Trial, TrialContext
from tests.ablations.decoders import small


def count(**model):
    trial = Trial(cell="", seed=0, architecture=small(**model), measures=())
    measured = Parameters().measure(TrialContext(trial))
    return {name: int(value) for name, value in measured.metrics.items()}, measured.profiles


def closed_form(*, norm, activation, n_kv_heads, bias, placement, d=256, heads=4, depth=12):
    """The total for the decoder of the default grid, written out."""
    context, vocabulary = 64, 256
    head_dim = d // heads
    gated = activation == "swiglu"
    hidden = -(-8 * d // 3 // 8) * 8 if gated else 4 * d
    if gated:
        hidden = 8 * -(-(8 * d / 3) // 8)
    kv = n_kv_heads * head_dim
    attention = d * (d + 2 * kv) + d * d + bias * (d + 2 * kv + d)
    feed_forward = (3 if gated else 2) * d * hidden + bias * ((2 if gated else 1) * hidden + d)
    norms = 2 * depth + (placement == "pre")
    per_norm = d * (2 if norm == "layernorm" else 1)
    blocks = depth * (attention + feed_forward)
    return int(vocabulary * d + context * d + blocks + norms * per_norm + vocabulary * d)


CELLS = list(
    itertools.product(
        ["layernorm", "rmsnorm"],
        ["gelu", "silu", "swiglu"],
        [("mha", 4), ({"gqa": {"n_kv_heads": 2}}, 2), ("mqa", 1)],
        [True, False],
        ["pre", "post"],
    )
)


def test_the_default_grid_has_72_cells():
    assert len(CELLS) == 72


@pytest.mark.parametrize(("norm", "activation", "attention", "bias", "placement"), CELLS)
def test_totals_of_the_default_grid(norm, activation, attention, bias, placement):
    counts, _ = count(
        norm=norm,
        activation=activation,
        attention=attention[0],
        bias=bias,
        placement=placement,
        depth=12,
        d_model=256,
        context=64,
        vocab_size=256,
    )
    assert counts["total"] == closed_form(
        norm=norm,
        activation=activation,
        n_kv_heads=attention[1],
        bias=bias,
        placement=placement,
    )


GPT2 = {
    "depth": 12,
    "d_model": 768,
    "n_heads": 12,
    "context": 1024,
    "vocab_size": 50257,
    "tie_embeddings": True,
    "activation": "gelu_tanh",
}


def test_gpt2_small_to_the_parameter():
    counts, profiles = count(**GPT2)
    assert counts["total"] == 124_439_808
    assert counts["per_block"] == 7_087_872
    assert counts["non_embedding"] == 85_056_000
    assert counts["head"] == 0
    assert profiles["block"].values == (7_087_872.0,) * 12


def test_linear_biases_of_12_blocks_at_width_768():
    with_bias, without = count(**GPT2)[0], count(**GPT2, bias=False)[0]
    assert with_bias["total"] - without["total"] == 82_944
    assert without["bias"] == 19_200
    assert with_bias["bias"] == 82_944 + 19_200


def test_projections_of_the_embedding_are_neither_embedding_nor_head():
    counts, _ = count(embedding_dim=12)
    assert counts["embedding"] == 64 * 12 + 16 * 32
    assert counts["head"] == 64 * 12
    assert counts["other"] == 2 * 12 * 32
    parts = ("embedding", "head", "attention", "feed_forward", "norm", "other")
    assert counts["total"] == sum(counts[part] for part in parts)


def test_the_parts_add_up_and_shared_blocks_count_once_in_the_total():
    model = {
        "residual": {"scaled": {"per_channel": True}},
        "attention": {"mha": {"qk_norm": "per_head"}},
        "bias": {"qkv": True, "out": False, "feed_forward": True, "head": True},
    }
    counts, _ = count(**model, depth=4, share_layers=2)
    parts = ("embedding", "head", "attention", "feed_forward", "norm", "other")
    assert counts["total"] == sum(counts[part] for part in parts)
    assert counts["head"] == 64 * 32 + 64
    assert counts["other"] == 2 * 2 * 32
    assert counts["norm"] == 2 * (2 * 64 + 2 * 16) + 64
    alone, _ = count(**model, depth=2)
    assert counts["total"] == alone["total"]
    assert counts["per_block"] == alone["per_block"]
