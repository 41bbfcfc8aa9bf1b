"""The optimizer over one vector: torch's own over many tensors, and the rates of a schedule."""

import math

import pytest
import torch
from torch.nn import functional as F

from ablations.initialization import initialized_decoder
from ablations.training.optimizing import FlatParameters, optimizer_of, rates, set_rate
from tests.ablations.decoders import small

OPTIONS = {"learning_rate": 1e-3, "betas": (0.9, 0.95), "momentum": 0.8, "weight_decay": 0.1}


def decoder(**model):
    return initialized_decoder(small(**model), 3, dtype=torch.float64)


def loss_of(model, step):
    generator = torch.Generator().manual_seed(step)
    tokens = torch.randint(model.architecture.vocab_size, (2, 8), generator=generator)
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten())


def torchs_own(model, kind):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    if kind == "sgd":
        return torch.optim.SGD(groups, lr=1e-3, momentum=0.8)
    cls = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[kind]
    return cls(groups, lr=1e-3, betas=(0.9, 0.95))


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd"])
@pytest.mark.parametrize("model", [{}, {"tie_embeddings": True}, {"share_layers": 3}])
def test_it_is_torchs_own_over_the_matrices_and_the_rest(kind, model):
    ours, theirs = decoder(**model), decoder(**model)
    flat = FlatParameters(ours)
    ours_optimizer, theirs_optimizer = optimizer_of(flat, kind, **OPTIONS), torchs_own(theirs, kind)
    for step in range(4):
        flat.gradients.zero_()
        theirs_optimizer.zero_grad()
        loss_of(ours, step).backward()
        loss_of(theirs, step).backward()
        ours_optimizer.step()
        theirs_optimizer.step()
    for (name, one), two in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-12, msg=name)


def test_values_and_gradients_are_those_of_the_model():
    model = decoder()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    flat = FlatParameters(model)
    assert flat.values.numel() == sum(p.numel() for p in model.parameters())
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())
    loss_of(model, 0).backward()
    whole = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in model.parameters()]))
    assert float(flat.gradients.norm()) == pytest.approx(float(whole), rel=1e-12)
    flat.values.zero_()
    assert not any(p.any() for p in model.parameters())


def test_an_initializer_scales_the_rate_of_a_range_of_a_fused_parameter():
    model = decoder(initializer="slow_queries")
    flat = FlatParameters(model)
    assert sum(place.stop - place.start for place, _, _ in flat.segments) == flat.values.numel()
    optimizer = optimizer_of(flat, "sgd", **{**OPTIONS, "momentum": 0.0, "weight_decay": 0.0})
    set_rate(optimizer, 0.5)
    flat.gradients.fill_(1.0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer.step()
    width = model.architecture.d_model
    for name, parameter in model.named_parameters():
        moved = before[name] - parameter.detach()
        if name.endswith("qkv.weight"):
            torch.testing.assert_close(moved[:width], torch.full_like(moved[:width], 0.125))
            moved = moved[width:]
        torch.testing.assert_close(moved, torch.full_like(moved, 0.5), msg=name)


def test_a_scale_that_is_no_number_is_refused():
    with pytest.raises(ValueError) as raised:
        FlatParameters(decoder(initializer={"slow_queries": {"scale": -1.0}}))
    assert str(raised.value) == (
        "initializer 'slow_queries' scales the learning rate of 'blocks.0.attention.qkv.weight' "
        "by -1.0: a finite number from 0 on is needed"
    )


def test_the_rate_rises_over_the_warm_up_and_falls_to_nothing():
    assert list(rates(2.0, steps=4, warmup_steps=0, schedule="constant")) == [2.0] * 4
    assert list(rates(2.0, steps=5, warmup_steps=2, schedule="constant")) == [1.0, *[2.0] * 4]
    assert list(rates(1.0, steps=6, warmup_steps=2, schedule="linear")) == pytest.approx(
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    )
    assert list(rates(1.0, steps=4, warmup_steps=0, schedule="cosine")) == pytest.approx(
        [1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]
    )
    assert list(rates(1.0, steps=2, warmup_steps=2, schedule="cosine")) == [0.5, 1.0]
