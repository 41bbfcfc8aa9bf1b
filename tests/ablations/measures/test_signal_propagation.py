"""Signal propagation against formulas taken another way, and against what theory says."""

import math

import pytest
import torch
from torch.nn import functional as F

from ablations.measures.signal_propagation import SignalPropagation, token_similarity
from tests.ablations.decoders import small
from tests.ablations.measures.test_gradient_flow import context


def propagate(seed=0, dtype="float64", **model):
    return SignalPropagation().measure(context(small(**model), seed, dtype))


@pytest.mark.parametrize("placement", ["pre", "post", "parallel", "other_names"])
def test_sizes_and_updates_against_a_pass_by_hand(placement):
    asked = context(small(placement=placement), dtype="float64")
    measured = SignalPropagation().measure(asked)
    decoder = asked.decoder()
    ids = torch.randint(64, (2, 16), generator=asked.generator("tokens"))
    with torch.no_grad():
        streams = [decoder.embed(ids)]
        for layer in range(3):
            streams.append(decoder.block(layer)(streams[-1]))
    sizes = [float(x.square().mean().sqrt()) for x in streams]
    assert measured.profiles["stream_rms"].values == pytest.approx(sizes, rel=1e-12)
    assert measured.metrics["stream_growth"] == pytest.approx(sizes[-1] / sizes[0], rel=1e-12)
    if placement == "pre":
        block, x = decoder.block(1), streams[1]
        with torch.no_grad():
            update = block.attention(block.attention_norm(x))
        size = float(update.norm() / x.norm())
        assert measured.profiles["attention_update"].values[1] == pytest.approx(size, rel=1e-10)
    assert set(measured.profiles) == {
        "stream_rms",
        "token_similarity",
        "attention_update",
        "feed_forward_update",
    }


def test_the_branches_are_told_apart_whatever_their_order():
    """`other_names` runs attention first, as `pre` does, but was given its residuals later."""
    pre, other = propagate(), propagate(placement="other_names")
    for name in ("attention_update", "feed_forward_update"):
        assert other.metrics[name] == pytest.approx(pre.metrics[name], rel=1e-12)
    assert pre.metrics["attention_update"] != pytest.approx(pre.metrics["feed_forward_update"])


def test_similarity_against_all_pairs():
    x = torch.randn(3, 7, 5, generator=torch.Generator().manual_seed(0)) + 0.5
    cosines = F.cosine_similarity(x[:, :, None], x[:, None], dim=-1)  # (B, T, T)
    pairs = cosines[:, ~torch.eye(7, dtype=torch.bool)]
    assert token_similarity(x) == pytest.approx(float(pairs.mean()), abs=1e-6)
    assert token_similarity(torch.ones(1, 4, 3)) == pytest.approx(1.0)
    assert token_similarity(torch.zeros(1, 4, 3)) == 0.0
    assert math.isnan(token_similarity(torch.ones(1, 1, 3)))


def test_without_skip_connections_the_tokens_become_one():
    """Rank collapses doubly exponentially with depth, and skips keep it (arXiv:2103.03404)."""
    model = {"depth": 8, "initializer": {"xavier": {"embedding_std": 1.0}}}
    alone = propagate(**model, residual="none").profiles["token_similarity"].values
    together = propagate(**model).profiles["token_similarity"].values
    assert alone[-1] > 0.999 > 0.5 > together[-1]
    assert alone[0] == together[0] < 0.1


def test_the_update_of_a_residual_that_scales_is_what_it_adds():
    scaled = propagate(residual={"scaled": {"value": 0.5}}).profiles["attention_update"].values[0]
    added = propagate().profiles["attention_update"].values[0]
    assert scaled == pytest.approx(added / 2, rel=1e-10)


def test_one_token_has_no_similarity():
    measured = SignalPropagation(length=1).measure(context(small()))
    assert "token_similarity" not in {**measured.metrics, **measured.profiles}


def test_shared_blocks_are_told_at_each_depth():
    measured = propagate(depth=4, share_layers=2)
    assert measured.profiles["attention_update"].positions == (0, 1, 2, 3)
    assert len(measured.profiles["stream_rms"].values) == 5


def test_what_it_rests_on_is_said():
    words = SignalPropagation(batch=3, length=8).convention()
    assert words == "3 × 8 random tokens, evaluation mode, at initialization"
    assert SignalPropagation(length=17).unsupported(small()) == "length 17 is over the context 16"
