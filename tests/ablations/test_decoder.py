"""Assembly: what is built, in which order, under which names; what does not fit together."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from ablations.decoder import build_decoder, skeleton
from ablations.initialization import initialized_decoder
from registry import Incompatible, InvalidSpec
from tests.ablations.decoders import build, small, tokens

ATTENTIONS = [
    "mha",
    {"gqa": {"n_kv_heads": 2}},
    "mqa",
    {"mha": {"window": 5}},
    {"mha": {"softcap": 2.0}},
]
POSITIONS = ["none", "learned", "sinusoidal", "rope", "alibi"]
PLACEMENTS = ["pre", "post", "sandwich", "post_sublayer", "parallel", "deepnorm"]


def test_parameter_names_are_the_documented_ones():
    names = {name for name, _ in build(depth=1, activation="swiglu").named_parameters()}
    linears = ["attention.qkv", "attention.out"]
    linears += [f"feed_forward.{name}" for name in ("gate", "up", "down")]
    norms = ["blocks.0.attention_norm", "blocks.0.feed_forward_norm", "final_norm"]
    owners = [*(f"blocks.0.{name}" for name in linears), *norms]
    assert names == {
        "token_embedding.weight",
        "positions.0.table",
        "head.weight",
        *(f"{owner}.{leaf}" for owner in owners for leaf in ("weight", "bias")),
    }


def test_the_forward_pass_is_embedding_blocks_norm_head_written_out():
    decoder = build().double()
    ids = tokens()
    x = decoder.token_embedding.weight[ids] + decoder.positions[0].table[:16]
    for block in decoder.blocks:
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    x = F.layer_norm(x, (32,), decoder.final_norm.weight, decoder.final_norm.bias)
    torch.testing.assert_close(decoder(ids), x @ decoder.head.weight.T, rtol=0, atol=1e-12)


def test_the_embedding_is_scaled_before_positions_and_normed_after():
    decoder = build(embedding_scale=3.0, embedding_norm="layernorm").double()
    ids = tokens()
    x = 3 * decoder.token_embedding.weight[ids] + decoder.positions[0].table[:16]
    torch.testing.assert_close(decoder.embed(ids), F.layer_norm(x, (32,)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
def test_embeddings_of_another_width_are_projected_and_back_before_the_head(tied):
    decoder = build(embedding_dim=12, embedding_scale=3.0, tie_embeddings=tied).double()
    shapes = {name: tuple(p.shape) for name, p in decoder.named_parameters()}
    assert shapes["token_embedding.weight"] == (64, 12)
    assert shapes["embedding_projection.weight"] == (32, 12)
    assert shapes["head_projection.weight"] == (12, 32)
    assert shapes.get("head.weight") == (None if tied else (64, 12))
    ids = tokens()
    x = 3 * decoder.token_embedding.weight[ids] @ decoder.embedding_projection.weight.T
    x = x + decoder.positions[0].table[:16]
    torch.testing.assert_close(decoder.embed(ids), x, rtol=0, atol=1e-12)
    y = decoder.hidden(ids) @ decoder.head_projection.weight.T @ decoder.head.weight.T
    torch.testing.assert_close(decoder(ids), y, rtol=0, atol=1e-12)


def test_embeddings_as_wide_as_the_model_are_not_projected():
    assert build(embedding_dim=32).embedding_projection is None
    names = {name for name, _ in build(embedding_dim=32).named_parameters()}
    assert names == {name for name, _ in build().named_parameters()}


def test_the_embedding_scale_may_follow_the_width():
    scaled, plain = build(embedding_scale="sqrt_d_model"), build(position="none")
    added = scaled.positions[0].table[:16]
    expected = math.sqrt(32) * plain.embed(tokens()) + added
    torch.testing.assert_close(scaled.embed(tokens()), expected)


def test_logits_are_scaled_and_then_bounded():
    model = {"bias": {"head": True}}
    plain = build(**model).double()
    z = plain(tokens())
    scaled = build(**model, logit_scale=0.5).double()(tokens())
    torch.testing.assert_close(scaled, 0.5 * z, rtol=0, atol=1e-15)
    bounded = build(**model, logit_scale=50.0, logit_softcap=2.0).double()(tokens())
    torch.testing.assert_close(bounded, 2 * (25 * z).tanh(), rtol=0, atol=1e-12)
    assert 1.9 < bounded.abs().max() <= 2 < (50 * z).abs().max()


@pytest.mark.parametrize(
    ("attention", "position", "placement"),
    list(itertools.product(ATTENTIONS, POSITIONS, PLACEMENTS)),
)
def test_no_position_sees_a_later_token(attention, position, placement):
    decoder = build(attention=attention, position=position, placement=placement, depth=2)
    ids = tokens(batch=1)
    logits = decoder(ids)
    for t in (0, 7, 14):
        changed = ids.clone()
        changed[:, t + 1 :] = (changed[:, t + 1 :] + 1) % 64
        after = decoder(changed)
        torch.testing.assert_close(after[:, : t + 1], logits[:, : t + 1], rtol=0, atol=1e-6)
        assert (after[:, t + 1] - logits[:, t + 1]).abs().max() > 1e-3


@pytest.mark.parametrize(("attention", "position"), list(itertools.product(ATTENTIONS, POSITIONS)))
def test_decoding_with_caches_equals_the_full_pass(attention, position):
    decoder = build(attention=attention, position=position).double()
    ids = tokens()
    caches = decoder.new_caches()
    chunks = [decoder(chunk, caches=caches) for chunk in ids.split([1, 1, 6, 1, 7], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), decoder(ids), rtol=0, atol=1e-10)


def test_attention_weights_sum_to_one_and_are_zero_above_the_diagonal():
    weights = build(position="rope").attention_weights(tokens())
    assert [tuple(w.shape) for w in weights] == [(2, 4, 16, 16)] * 3
    for layer in weights:
        torch.testing.assert_close(layer.sum(-1), torch.ones(2, 4, 16))
        assert layer.triu(1).abs().max() == 0


@pytest.mark.parametrize(
    ("placement", "norms"),
    [("pre", True), ("post", False), ("parallel", True), ("deepnorm", False), ("sandwich", True)],
)
def test_a_final_norm_where_the_placement_asks_for_one(placement, norms):
    assert (build(placement=placement).final_norm is not None) == norms
    assert build(placement=placement, final_norm=True).final_norm is not None
    assert build(placement=placement, final_norm=False).final_norm is None


def test_a_tied_head_is_the_embedding():
    decoder = build(tie_embeddings=True)
    assert decoder.head.weight is decoder.token_embedding.weight
    assert "head.weight" not in dict(decoder.named_parameters())


def test_shared_layers_come_again():
    decoder = build(depth=6, share_layers=3)
    assert len(decoder.blocks) == 2
    assert decoder.block(2) is decoder.block(0) is not decoder.block(3)
    ids = tokens()
    x = decoder.embed(ids)
    for index in (0, 0, 0, 1, 1, 1):
        x = decoder.blocks[index](x)
    torch.testing.assert_close(decoder.hidden(ids), decoder.final_norm(x))


def test_layers_alternate_over_the_depth():
    decoder = build(
        depth=4, attention={"layers": ["mha", {"mqa": {}}]}, norm={"layers": ["layernorm"]}
    )
    widths = [block.attention.qkv.out_features for block in decoder.blocks]
    assert widths == [96, 48, 96, 48]


def test_a_position_may_differ_by_layer():
    decoder = build(depth=4, position={"layers": ["rope", "rope", "none"]})
    assert len(decoder.positions) == 2
    assert [bool(decoder.mixing(layer)) for layer in range(4)] == [True, True, False, True]


def test_positions_added_to_the_embedding_cannot_differ_by_layer():
    with pytest.raises(Incompatible) as caught:
        build(position={"layers": ["learned", "none"]})
    assert str(caught.value) == (
        "position 'learned' is added to the embedding, so it must be the same in every block"
    )


def test_dropout_acts_in_training_alone_after_both_sublayers():
    decoder = build(dropout={"residual": 0.5, "attention": 0.0}, depth=1)
    ids = tokens()
    assert torch.equal(decoder.eval()(ids), decoder(ids))
    decoder.train()
    outputs = {}
    for name in ("attention", "feed_forward", "attention_norm"):
        decoder.blocks[0].get_submodule(name).register_forward_hook(
            lambda _m, _a, out, name=name: outputs.update({name: out})
        )
    decoder(ids)
    dropped = {name: float((out == 0).float().mean()) for name, out in outputs.items()}
    assert dropped["attention"] == pytest.approx(0.5, abs=0.1)
    assert dropped["feed_forward"] == pytest.approx(0.5, abs=0.1)
    assert dropped["attention_norm"] == 0


def test_attention_dropout_acts_in_training_alone():
    decoder = build(dropout={"attention": 0.5})
    ids = tokens()
    assert torch.equal(decoder.eval()(ids), decoder(ids))
    assert not torch.equal(decoder.train()(ids), decoder(ids))


def test_building_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    skeleton(small())
    build_decoder(small())
    initialized_decoder(small(), 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_skeleton_has_the_shapes_and_no_memory():
    architecture = small(attention="mqa", activation="swiglu", position="sinusoidal")
    shapes = {n: p.shape for n, p in build_decoder(architecture).named_parameters()}
    on_meta = dict(skeleton(architecture).named_parameters())
    assert {name: p.shape for name, p in on_meta.items()} == shapes
    assert all(p.is_meta for p in on_meta.values())


def test_pre_and_post_differ_with_equal_weights():
    model = {"d_model": 384, "n_heads": 6, "depth": 2, "final_norm": False}
    pre, post = build(placement="pre", **model), build(placement="post", **model)
    assert post.load_state_dict(pre.state_dict())
    ids = tokens()
    assert pre.hidden(ids).shape == (2, 16, 384)
    assert (pre.hidden(ids) - post.hidden(ids)).abs().max() > 0.1


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            {"attention": "mean", "position": "rope"},
            Incompatible,
            "position 'rope' acts on queries, keys or scores; attention 'mean' supports only "
            "positions added to the embedding",
        ),
        (
            {"attention": "mean", "dropout": {"attention": 0.1}},
            Incompatible,
            "attention 'mean' has no attention dropout",
        ),
        (
            {"placement": "hiding"},
            InvalidSpec,
            "norm 'layernorm' of blocks.0.norm.2 was made but is not held as a submodule",
        ),
        (
            {"placement": "undecided"},
            InvalidSpec,
            "placement 'undecided' must say whether a final norm follows: final_norm = True or "
            "False",
        ),
        (
            {"feed_forward": "wrong_ranges"},
            InvalidSpec,
            "the row ranges of 'own' of feed_forward 'wrong_ranges' must follow each other from 0 "
            "to 32, not [(0, 4), (5, 32)]",
        ),
        (
            {"feed_forward": "wrong_name"},
            InvalidSpec,
            "feed_forward 'wrong_name' gives a role to 'owned', which it lacks",
        ),
    ],
    ids=str,
)
def test_parts_that_do_not_fit_are_told(model, error, message):
    with pytest.raises(error) as caught:
        build(**model)
    assert str(caught.value) == message


def test_what_an_attention_does_not_offer_is_told_when_asked_for():
    decoder = build(attention="mean")
    assert decoder(tokens()).shape == (2, 16, 64)
    with pytest.raises(Incompatible, match=r"^attention 'mean' has no cache$"):
        decoder.new_caches()
    with pytest.raises(Incompatible, match=r"^attention 'mean' has no weights$"):
        decoder.attention_weights(tokens())


def test_a_position_of_each_block_knows_its_layer():
    decoder = build(position="per_layer", depth=4)
    assert [decoder.mixing(layer)["position"].layer for layer in range(4)] == [0, 1, 2, 3]
