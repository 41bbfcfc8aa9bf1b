"""Attention maps against the decoder's own weights, and the figures against plain formulas."""

import math

import numpy as np
import pytest
import torch

from ablations.measures.attention_map import AttentionMap
from ablations.trial import NotApplicable
from tests.ablations.decoders import small
from tests.ablations.measures.test_gradient_flow import context


def look(seed=0, dtype="float64", options=None, **model):
    return AttentionMap(**(options or {})).measure(context(small(**model), seed, dtype))


def array(kept):
    return np.frombuffer(kept.data, kept.dtype).reshape(kept.shape)


@pytest.mark.parametrize("position", ["learned", "rope", "alibi"])
def test_everything_against_the_weights_of_the_decoder(position):
    asked = context(small(position=position, attention={"gqa": {"n_kv_heads": 2}}), dtype="float64")
    measured = AttentionMap(heads=(1, 3)).measure(asked)
    ids = torch.randint(64, (2, 16), generator=asked.generator("tokens"))
    with torch.no_grad():
        weights = asked.decoder().attention_weights(ids)
    for layer, p in enumerate(weights):
        rows = [
            (float(-(row[row > 0] * row[row > 0].log()).sum()) / math.log(t + 1), float(row.max()))
            for matrix in p.flatten(0, 1)
            for t, row in enumerate(matrix)
            if t
        ]
        entropy = sum(row[0] for row in rows) / len(rows)
        later = [row[1] for n, row in enumerate(rows) if n % 15 >= 7]  # t = 8 … 15
        assert measured.profiles["entropy"].values[layer] == pytest.approx(entropy, rel=1e-9)
        row_max = measured.profiles["row_max"].values[layer]
        assert row_max == pytest.approx(sum(later) / len(later), rel=1e-9)
    assert set(measured.arrays) == {
        f"layer_{layer}_head_{head}" for layer in (0, 2) for head in (1, 3)
    }
    kept = array(measured.arrays["layer_2_head_3"])
    assert kept == pytest.approx(weights[2][0, 3].float().numpy(), abs=0)
    assert not np.triu(kept, 1).any()
    assert measured.metrics["entropy"] == pytest.approx(
        np.mean(measured.profiles["entropy"].values), rel=1e-12
    )


def test_the_largest_logit_is_the_largest_visible_score():
    asked = context(small(attention={"mha": {"scale": 3.0}}), dtype="float64")
    measured = AttentionMap().measure(asked)
    block, decoder = asked.decoder().blocks[0], asked.decoder()
    ids = torch.randint(64, (2, 16), generator=asked.generator("tokens"))
    with torch.no_grad():
        q, k, _ = block.attention.qkv(block.attention_norm(decoder.embed(ids))).chunk(3, -1)
        q, k = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in (q, k))
        scores = 3.0 * q @ k.mT
        visible = torch.ones(16, 16, dtype=torch.bool).tril()
    largest = float(scores[..., visible].max())
    assert measured.profiles["largest_logit"].values[0] == pytest.approx(largest, rel=1e-12)
    assert measured.metrics["largest_logit"] == max(measured.profiles["largest_logit"].values)


def test_uniform_and_peaked_attention_are_at_the_ends():
    flat = look(initializer={"normal": {"std": 1e-9, "embedding_std": 1.0}}).metrics
    assert flat["entropy"] == pytest.approx(1.0, abs=1e-9)
    assert flat["row_max"] == pytest.approx(sum(1 / n for n in range(9, 17)) / 8, rel=1e-6)
    peaked = look(attention={"mha": {"scale": 1e6}}).metrics
    assert peaked["entropy"] < 0.05
    assert peaked["row_max"] > 0.95


def test_a_window_of_two_keys_has_a_maximum_of_two():
    flat = look(
        initializer={"normal": {"std": 1e-9, "embedding_std": 1.0}},
        attention={"mha": {"window": 2}},
    ).metrics
    assert flat["entropy"] == pytest.approx(1.0, abs=1e-9)
    assert flat["row_max"] == pytest.approx(0.5, rel=1e-6)
    one = look(attention={"mha": {"window": 1}})
    assert set(one.metrics) == {"largest_logit"}
    assert array(one.arrays["layer_0_head_0"]) == pytest.approx(np.eye(16))


def test_attention_that_reads_the_future_is_kept_as_it_is():
    ahead = array(look(attention={"mha": {"causal": False}}).arrays["layer_0_head_0"])
    assert np.triu(ahead, 1).any()


def test_without_weights_it_is_not_applicable_and_a_hybrid_is_told_where_it_can():
    with pytest.raises(NotApplicable, match=r"^no attention offers its weights$"):
        look(attention="mean")
    hybrid = look(attention={"layers": ["mean", "mha", "mean"]})
    assert hybrid.profiles["entropy"].positions == (1,)
    assert not hybrid.arrays  # neither the first nor the last layer has any


def test_places_that_do_not_exist_are_refused():
    refuse = small()
    assert AttentionMap(layers=(0, 3)).unsupported(refuse) == (
        "layers are counted from 0 to 2: got 3"
    )
    assert AttentionMap(heads=(4,)).unsupported(refuse) == "heads are counted from 0 to 3: got 4"
    assert AttentionMap(layers=(2,), heads=(3,)).unsupported(refuse) is None
