"""Blocks of every attention, position and placement: what must hold in all combinations."""

from __future__ import annotations

import copy
import io
import itertools
import pickle

import pytest
import torch
from torch import Tensor

from tests.components.makers import (
    ATTENTIONS,
    DEFAULTS,
    PLACEMENTS,
    POSITIONS,
    Choice,
    block,
    build,
    dims,
    embedded,
    label,
    randomize,
    tokens,
)

PRODUCT = list(itertools.product(ATTENTIONS, POSITIONS, PLACEMENTS))
RESIDUALS: tuple[Choice, ...] = (
    "add",
    "scaled",
    ("scaled", {"per_channel": True}),
    "gated",
    "none",
)
ACTIVATIONS = ("relu", "relu_squared", "gelu", "gelu_tanh", "silu")
GATED = ("swiglu", "geglu", "reglu", "glu")


@pytest.mark.parametrize(
    ("attention", "place", "placement"),
    PRODUCT,
    ids=["_".join(map(label, combination)) for combination in PRODUCT],
)
def test_no_token_sees_a_later_one(attention: Choice, place: Choice, placement: Choice) -> None:
    module = block(
        dtype=torch.float32, attention=attention, placement=placement, activation="swiglu"
    )
    position = randomize(build("position", place), dtype=torch.float32)
    x = tokens(2, 9, 16, dtype=torch.float32)
    changed = x.clone()
    changed[:, 5:] = tokens(2, 4, 16, dtype=torch.float32, seed=1)

    def run(x: Tensor) -> Tensor:
        y: Tensor = module(embedded(position, x), position=position)
        return y

    before = torch.get_rng_state()
    a, b = run(x), run(changed)
    assert torch.equal(torch.get_rng_state(), before), "a forward pass in eval mode drew numbers"
    assert torch.equal(a[:, :5], b[:, :5])
    assert (a[:, 5:] != b[:, 5:]).any(-1).all()


@pytest.mark.parametrize(
    ("attention", "place", "placement"),
    [
        *itertools.product(ATTENTIONS, POSITIONS, ["pre"]),
        *itertools.product(["mha"], ["none"], PLACEMENTS[1:]),
    ],
    ids=label,
)
def test_a_block_can_be_built_and_run_without_memory(
    attention: Choice, place: Choice, placement: Choice
) -> None:
    parts = {**DEFAULTS, "attention": attention}
    with torch.device("meta"):
        module = build("placement", placement, dims(), parts)
        position = build("position", place)
        x = torch.empty(2, 12, 16)
    y = module(embedded(position, x), position=position)
    assert (y.device.type, y.shape) == ("meta", (2, 12, 16))
    shapes = {name: p.shape for name, p in module.named_parameters()}
    real = build("placement", placement, dims(), parts)
    assert shapes == {name: p.shape for name, p in real.named_parameters()}


@pytest.mark.parametrize(
    ("placement", "residual"),
    [
        pair
        for pair in itertools.product(PLACEMENTS, RESIDUALS)
        if not (label(pair[0]).startswith("parallel") and pair[1] == "none")  # refused
    ],
    ids=label,
)
def test_every_parameter_has_a_gradient(placement: Choice, residual: Choice) -> None:
    module = block(placement=placement, residual=residual, attention=("gqa", {"n_kv_heads": 2}))
    rope = build("position", "rope")  # without it a key bias has none
    (module(tokens(2, 9, 16), position=rope) * tokens(2, 9, 16, seed=1)).sum().backward()
    without = [name for name, p in module.named_parameters() if p.grad is None or not p.grad.any()]
    assert not without


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm", "none"])
@pytest.mark.parametrize("activation", [*ACTIVATIONS, *GATED])
def test_norms_and_activations_combine(norm: str, activation: str) -> None:
    x = tokens(2, 5, 16)
    y = block(norm=norm, activation=activation)(x)
    assert y.shape == x.shape
    assert y.isfinite().all()
    batch = block(norm=norm, activation=activation)(x[1:])
    torch.testing.assert_close(batch, y[1:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("attention", ATTENTIONS, ids=label)
@pytest.mark.parametrize("place", POSITIONS, ids=label)
def test_a_block_survives_copying_pickling_and_saving(attention: Choice, place: Choice) -> None:
    module = block(attention=attention, activation="geglu", residual="gated")
    position = randomize(build("position", place))
    x = tokens(2, 5, 16)
    expected = module(embedded(position, x), position=position)
    pickled = pickle.loads(pickle.dumps((module, position)))
    for other, moved in (copy.deepcopy((module, position)), pickled):
        assert torch.equal(other(embedded(moved, x), position=moved), expected)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    fresh = build(
        "placement",
        "pre",
        dims(),
        {**DEFAULTS, "attention": attention, "activation": "geglu", "residual": "gated"},
    ).double()
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(fresh(embedded(position, x), position=position), expected)


@pytest.mark.parametrize("attention", ATTENTIONS, ids=label)
def test_decoding_through_a_block_equals_the_full_pass(attention: Choice) -> None:
    module = block(attention=attention, placement=("parallel", {"norms": 2}))
    rope, x = build("position", "rope"), tokens(2, 9, 16)
    cache = module.attention.new_cache()
    parts = [module(token, position=rope, cache=cache) for token in torch.split(x, 1, dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1), module(x, position=rope), rtol=0, atol=1e-12)
