"""What training tells apart: who can look back how far, and who looks ahead."""

import pytest

from ablations.measures.training import Training
from ablations.trial import Trial, TrialContext
from tests.ablations.decoders import small

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def trained(model, **options):
    architecture = small(**model)
    trial = Trial(cell="c", seed=0, architecture=architecture, measures=())
    return Training(**options).measure(TrialContext(trial))


RECALLING = {
    "depth": 2,
    "d_model": 64,
    "n_heads": 2,
    "context": 32,
    "vocab_size": 64,
    "position": "rope",
    "initializer": {"xavier": {"embedding_std": 1.0}},
}


def recalled(attention):
    """How training on recall ends with that attention; the gap is 16 tokens by default."""
    return trained(
        RECALLING | {"attention": attention},
        data="recall",
        steps=250,
        batch=64,
        learning_rate=3e-3,
        warmup_steps=25,
        schedule="cosine",
    ).metrics


def test_recall_separates_full_attention_from_a_window_shorter_than_the_gap():
    full, windowed = recalled("mha"), recalled({"mha": {"window": 8}})
    chance = 1 / 22  # a quarter of 64 ids fills, half the rest are values
    assert full["accuracy"] > 0.9
    assert full["learnt"] == 1
    assert windowed["accuracy"] == pytest.approx(chance, abs=0.03)
    assert windowed["stalled"] == 1


def test_an_attention_without_a_mask_leaks_and_is_far_below_every_causal_one():
    model = RECALLING | {"n_heads": 4, "vocab_size": 256, "position": "learned"}
    found = {
        name: trained(model | {"attention": attention}, steps=200, batch=16, learning_rate=3e-3)
        for name, attention in {
            "mha": "mha",
            "gqa": {"gqa": {"n_kv_heads": 2}},
            "mqa": "mqa",
            "window": {"mha": {"window": 8}},
            "unmasked": "unmasked",
        }.items()
    }
    losses = {name: of.metrics["final_loss"] for name, of in found.items()}
    unmasked = losses.pop("unmasked")
    assert unmasked < min(losses.values()) - 1
    assert [name for name, of in found.items() if "leaks" in of.marks] == ["unmasked"]
