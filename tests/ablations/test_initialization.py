"""Initial values: one stream per seed and parameter path, whatever stands around it."""

import itertools

import pytest
import torch

from ablations.initialization import initialized_decoder, slices
from ablations.streams import stream_seed
from tests.ablations.decoders import build, small


def weights(**model):
    return {
        piece.stream: piece.tensor.clone() for piece in slices(build(**model)) if piece.initialized
    }


CHANGES = [
    {"norm": "rmsnorm"},
    {"activation": "silu"},
    {"activation": "swiglu", "d_ff": 128},
    {"attention": "mqa"},
    {"attention": {"gqa": {"n_kv_heads": 2}}},
    {"position": "rope"},
    {"residual": "gated"},
    {"placement": "post"},
    {"placement": {"parallel": {"norms": 2}}},
    {"placement": "sandwich"},
    {"bias": False},
    {"depth": 5},
    {"tie_embeddings": True},
    {"attention": {"mha": {"qk_norm": "per_head"}}},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_one_change_leaves_every_other_matrix_bit_identical(change):
    before, after = weights(d_ff=128), weights(**{"d_ff": 128, **change})
    common = [name for name in before if name in after and before[name].shape == after[name].shape]
    assert len(common) >= 14
    for name in common:
        assert torch.equal(before[name], after[name]), name


def test_q_of_grouped_queries_is_q_of_multi_head():
    full, grouped = build(), build(attention={"gqa": {"n_kv_heads": 2}})
    for ours, theirs in zip(full.blocks, grouped.blocks, strict=True):
        assert torch.equal(ours.attention.qkv.weight[:32], theirs.attention.qkv.weight[:32])


def test_separate_projections_hold_the_rows_of_the_fused_one():
    fused = build(attention={"gqa": {"n_kv_heads": 2}})
    separate = build(attention={"gqa": {"n_kv_heads": 2, "qkv": "separate"}})
    for ours, theirs in zip(separate.blocks, fused.blocks, strict=True):
        rows = theirs.attention.qkv.weight.split([32, 16, 16])
        for name, expected in zip("qkv", rows, strict=True):
            assert torch.equal(ours.attention.get_submodule(name).weight, expected)
        assert torch.equal(ours.attention.out.weight, theirs.attention.out.weight)


def test_every_matrix_has_a_stream_of_its_own():
    drawn = list(weights().values())
    for one, other in itertools.combinations(drawn, 2):
        if one.shape == other.shape:
            assert not torch.equal(one, other)


def test_the_seed_changes_every_matrix_and_equal_seeds_none():
    first, again = weights(), weights()
    other = {p.stream: p.tensor for p in slices(build(seed=1)) if p.initialized}
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name])
        assert not torch.equal(tensor, other[name])


def test_a_draw_does_not_depend_on_what_was_drawn_before():
    torch.manual_seed(5)
    first = build().state_dict()
    torch.manual_seed(6)
    torch.rand(1000)
    second = build().state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_stream_is_the_documented_one():
    generator = torch.Generator().manual_seed(stream_seed(0, "blocks.2.attention.k.weight"))
    expected = torch.empty(32, 32).normal_(0, 0.02, generator=generator)
    assert torch.equal(build().blocks[2].attention.qkv.weight[32:64], expected)


def test_vectors_keep_what_their_constructor_gave():
    decoder = build(residual={"scaled": {"per_channel": True, "value": 0.1}})
    for name, parameter in decoder.named_parameters():
        if parameter.ndim == 1:
            expected = 0.1 if "residual" in name else float(name.endswith("norm.weight"))
            assert torch.all(parameter == expected), name


def test_gains_of_the_placement_scale_their_roles_alone():
    depth = 3
    plain, gained = (
        weights(initializer="xavier"),
        weights(initializer="xavier", placement="deepnorm"),
    )
    beta = (8 * depth) ** -0.25
    for name, tensor in gained.items():
        kind = name.removesuffix(".weight").rpartition(".")[2]
        factor = beta if kind in ("v", "out", "up", "down") else 1.0
        torch.testing.assert_close(tensor, plain[name] * factor, rtol=1e-6, atol=0)


def test_other_types_hold_the_same_draws():
    double = initialized_decoder(small(), 0, dtype=torch.float64)
    for ours, theirs in zip(build().parameters(), double.parameters(), strict=True):
        assert torch.equal(ours.double(), theirs)


def test_sinusoids_are_as_large_as_the_embeddings():
    decoder = build(position="sinusoidal", embedding_scale=5.0, context=256)
    x = decoder.token_embedding.weight * 5.0
    positions = decoder.positions[0].embed(torch.zeros(1, 256, 32), torch.arange(256))
    assert float(positions.square().mean().sqrt()) == pytest.approx(
        float(x.detach().square().mean().sqrt()), rel=0.02
    )


def test_sinusoids_are_as_large_as_projected_embeddings():
    decoder = build(position="sinusoidal", embedding_dim=8, embedding_scale=5.0, context=256)
    x = 5.0 * decoder.token_embedding.weight @ decoder.embedding_projection.weight.T
    positions = decoder.positions[0].embed(torch.zeros(1, 256, 32), torch.arange(256))
    assert float(positions.square().mean().sqrt()) == pytest.approx(
        float(x.detach().square().mean().sqrt()), rel=1e-5
    )


def test_projections_of_the_embedding_change_no_other_weight():
    ours, theirs = build().state_dict(), build(embedding_dim=8).state_dict()
    projections = {"embedding_projection.weight", "head_projection.weight"}
    assert set(theirs) - set(ours) == projections
    assert all(0.01 < theirs[name].std() < 0.03 for name in projections)
    changed = {name for name in ours if not torch.equal(ours[name], theirs[name])}
    assert changed == {"token_embedding.weight", "head.weight"}


def test_other_names_and_another_order_of_parts_change_no_initial_weight():
    ours, theirs = weights(), weights(placement="other_names")
    assert set(ours) == set(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_a_constructor_draws_depends_on_seed_and_place_alone():
    def drawn(seed=0, **model):
        decoder = build(seed, norm="drawing", **model)
        blocks = [decoder.blocks[layer].norms[0].shift for layer in range(2)]
        return blocks, decoder.blocks[1].drawn

    shifts, own = drawn(placement="other_names")
    assert not torch.equal(shifts[0], shifts[1])
    again, own_again = drawn(placement="other_names", attention="mean", feed_forward="roles")
    assert all(torch.equal(*pair) for pair in zip(shifts, again, strict=True))
    assert torch.equal(own, own_again)
    assert not torch.equal(own, drawn(1, placement="other_names")[1])


def test_a_component_says_what_is_initialized():
    feed_forward = build(feed_forward="roles").blocks[0].feed_forward
    assert torch.equal(feed_forward.own, torch.eye(32))
    assert feed_forward.scalar == 0.5
    assert 0.005 < feed_forward.vector.std() < 0.04


def test_ranges_of_one_role_have_streams_of_their_own():
    decoder = build(feed_forward="heads")
    ranges = decoder.blocks[0].feed_forward.fused.weight.chunk(4)
    for one, other in itertools.combinations(ranges, 2):
        assert not torch.equal(one, other)
    names = [piece.stream for piece in slices(decoder)]
    assert len(set(names)) == len(names)
    assert "blocks.0.feed_forward.q.weight" in names
    assert "blocks.0.feed_forward.q.weight.1" in names


def test_a_block_that_has_a_position_of_its_own_keeps_it_whatever_the_others_have():
    def table(layer, **model):
        decoder = build(depth=4, **model)
        return decoder.mixing(layer)["position"].table

    all_of_them = table(2, position="table_each")
    every_other = table(2, position={"layers": ["table_each", "none"]})
    assert torch.equal(all_of_them, every_other)
    assert not torch.equal(all_of_them, table(0, position="table_each"))


def test_draws_do_not_depend_on_the_default_dtype():
    before = build().state_dict()
    torch.set_default_dtype(torch.float64)
    try:
        after = build().state_dict()
    finally:
        torch.set_default_dtype(torch.float32)
    assert all(after[name].dtype == torch.float32 for name in after)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_initializer_against_its_contract_still_gives_what_the_seed_says():
    def drawn(**model):
        torch.rand(3)  # so that the global generator stands elsewhere each time
        return weights(initializer="careless", **model)

    first, again, other = drawn(), drawn(), drawn(placement="post", norm="rmsnorm")
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(torch.equal(first[name], other[name]) for name in other)
    assert first["blocks.0.attention.q.weight"].std() > 0.01
