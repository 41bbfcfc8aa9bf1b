"""One optimizer step: how far it moves a model."""

import math

import pytest
import torch
from torch.nn import functional as F

from ablations.declared.one_step import ONE_STEP
from ablations.measures.one_step import OneStep
from ablations.training.material import Sequences, Source
from ablations.trial import Trial, TrialContext
from tests.ablations.decoders import small

SMALL = {"depth": 3, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 256}


def context(**model):
    architecture = small(**SMALL | model)
    return TrialContext(Trial(cell="c", seed=0, architecture=architecture, measures=()))


def measured(model=None, **options):
    return OneStep(**options).measure(context(**model or {}))


def test_it_is_the_difference_that_one_step_makes():
    found = measured(
        optimizer="sgd", momentum=0.0, weight_decay=0.0, learning_rate=0.1, batch=4, clip_norm=None
    )
    at = context()
    sequences = Sequences(Source().material(length=16, vocab_size=256), "training", at.generator)
    tokens, targets = sequences.take(0, 4)
    model = at.fresh_decoder()
    before = model(tokens)
    loss = F.cross_entropy(before.flatten(0, 1), targets.flatten())
    loss.backward()
    size = torch.cat([p.grad.flatten() for p in model.parameters()]).norm() * 0.1
    whole = torch.cat([p.detach().flatten() for p in model.parameters()]).norm()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad
        after = model(tokens)
    change = after - before.detach()
    change = change - change.mean(dim=-1, keepdim=True)
    assert found.metrics["logit_change"] == pytest.approx(
        float(change.square().mean().sqrt()), rel=1e-3
    )
    moved = float(F.cross_entropy(after.flatten(0, 1), targets.flatten()) - loss.detach())
    assert found.metrics["loss_change"] == pytest.approx(moved, abs=1e-5)
    assert moved < 0
    assert found.metrics["update"] == pytest.approx(float(size / whole), rel=1e-3)


def test_the_stream_moves_more_the_more_blocks_have_moved():
    row = measured().profiles["stream_change"]
    assert row.positions == (0, 1, 2, 3)
    assert all(map(math.isfinite, row.values))
    assert measured(learning_rate=1e-12).metrics["logit_change"] < 1e-4


def test_adam_moves_a_model_as_far_whatever_the_size_of_its_gradient():
    moved = [
        measured(optimizer=o, weight_decay=0.0, clip_norm=None, model={"embedding_scale": scale})
        for o in ("adamw", "sgd")
        for scale in (1.0, 10.0)
    ]
    updates = [m.metrics["update"] for m in moved]
    assert updates[0] == pytest.approx(updates[1], rel=0.02)
    assert updates[2] != pytest.approx(updates[3], rel=0.1)


def test_dropout_is_left_out_of_what_is_compared():
    with_dropout = measured(learning_rate=1e-12, model={"dropout": {"residual": 0.5}})
    assert with_dropout.metrics["logit_change"] < 1e-4


def test_it_returns_what_it_declares():
    found = measured()
    assert found.metrics.keys() == {metric.name for metric in ONE_STEP.metrics}
    assert found.profiles.keys() == {profile.name for profile in ONE_STEP.profiles}
    assert OneStep().convention().startswith("one adamw step on 8 × context tokens of the built-in")
