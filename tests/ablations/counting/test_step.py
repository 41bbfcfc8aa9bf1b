"""What a step computes and keeps, against torch's own counter, closed forms and a real step."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from ablations.counting.step import count_step
from ablations.decoder import build_decoder, skeleton
from registry import discover
from tests.ablations.decoders import small

CATALOG = discover()
MODELS = [
    {},
    *(
        {kind: spec.name}
        for kind in ("norm", "activation", "position", "residual", "placement")
        for spec in CATALOG.components(kind)
        if spec.provenance.distribution == "ablations"
    ),
    {"attention": "mqa"},
    {"attention": {"gqa": {"n_kv_heads": 2, "qk_norm": "per_head"}}, "position": "rope"},
    {"attention": {"mha": {"qkv": "separate"}}},
    {"attention": {"mha": {"window": 5}}},
    {"attention": {"mha": {"window": 5}}, "position": "alibi"},
    {"attention": {"layers": ["mha", {"mha": {"window": 5}}, "mqa"]}},
    {"share_layers": 3},
    {"tie_embeddings": True, "bias": False},
    {"head_dim": 12},
    {"embedding_norm": "rmsnorm", "embedding_scale": 3.0},
    {"attention": "mean"},
    {"placement": "twice"},
    {"feed_forward": "heads"},
]


def measured(decoder, batch, length):
    """Bytes that a real step keeps, found by pointers to memory."""
    tokens = torch.zeros(batch, length, dtype=torch.long)
    targets = torch.zeros(batch, length, dtype=torch.long)
    own = [*decoder.parameters(), *decoder.buffers(), tokens, targets]
    outside = {tensor.untyped_storage().data_ptr() for tensor in own}
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        loss = F.cross_entropy(decoder(tokens).flatten(0, 1), targets.flatten())
    kept = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in seen}
    assert loss.requires_grad
    return sum(size for pointer, size in kept.items() if pointer not in outside)


def torchs(decoder, batch, length):
    """FLOPs of forward and backward pass by torch's own counter, on the meta device."""
    tokens = torch.zeros(batch, length, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        loss = F.cross_entropy(decoder(tokens).flatten(0, 1), tokens.flatten())
        forward = counter.get_total_flops()
        loss.backward()
    return forward, counter.get_total_flops() - forward


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_step_is_counted_as_torch_counts_it_and_keeps_what_a_real_one_does(model):
    architecture = small(**model)
    found = count_step(skeleton(architecture), batch=2, length=13)
    assert (found.forward, found.backward) == torchs(skeleton(architecture).eval(), 2, 13)
    assert found.saved == measured(build_decoder(architecture).eval(), 2, 13)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_what_is_kept_has_its_own_type(dtype):
    architecture = small(norm="rmsnorm", position="rope", activation="swiglu")
    found = count_step(skeleton(architecture).to(dtype), batch=1, length=16)
    assert found.saved == measured(build_decoder(architecture).to(dtype).eval(), 1, 16)
    single = count_step(skeleton(architecture), batch=1, length=16)
    assert (found.forward, found.backward) == (single.forward, single.backward)
    assert found.saved < single.saved if dtype == torch.bfloat16 else found.saved > single.saved


@pytest.mark.parametrize(
    ("attention", "kv_heads"), [("mha", 4), ({"gqa": {"n_kv_heads": 2}}, 2), ("mqa", 1)]
)
def test_flops_against_a_closed_form(attention, kv_heads):
    batch, length, d, d_ff, heads, c, depth, vocabulary = 3, 16, 32, 128, 4, 8, 3, 64
    found = count_step(skeleton(small(attention=attention)), batch=batch, length=length)
    matrices = depth * (d * (heads + 2 * kv_heads) * c + heads * c * d + 2 * d * d_ff)
    attended = depth * 4 * length**2 * heads * c
    forward = batch * (2 * length * (matrices + d * vocabulary) + attended)
    assert (found.forward, found.backward) == (forward, 2 * forward)


def test_dropout_is_left_out():
    plain = count_step(skeleton(small()), batch=1, length=16)
    dropping = small(dropout={"attention": 0.1, "residual": 0.1})
    assert count_step(skeleton(dropping), batch=1, length=16) == plain


@pytest.mark.parametrize(
    ("model", "attentions"),
    [
        ({}, 3),
        ({"attention": "mqa"}, 3),
        ({"attention": {"mha": {"window": 4}}}, 3),
        ({"placement": "twice"}, 6),
        ({"share_layers": 3}, 3),
    ],
    ids=str,
)
def test_maps_have_a_number_for_each_pair_and_head(model, attentions):
    found = count_step(skeleton(small(**model)), batch=2, length=10)
    assert found.map_elements == attentions * 2 * 4 * 10**2


@pytest.mark.parametrize("attention", ["mean", {"layers": ["mha", "mean", "mha"]}])
def test_no_map_is_guessed(attention):
    assert count_step(skeleton(small(attention=attention)), batch=2, length=10).map_elements is None
