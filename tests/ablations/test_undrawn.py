"""Constructors that leave their matrices undrawn."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ablations.decoder import build_decoder, skeleton
from ablations.initialization import initialized_decoder
from ablations.undrawn import lacks_memory
from tests.ablations.decoders import small


class Draws(TorchDispatchMode):
    """Counts what is drawn, by dimensions."""

    def __init__(self):
        super().__init__()
        self.of = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ in ("uniform_", "normal_"):
            self.of[args[0].ndim] += 1
        return func(*args, **(kwargs or {}))


def drawn(make):
    with Draws() as draws:
        make()
    return draws.of


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"attention": {"mha": {"qkv": "separate", "qk_norm": "per_head"}}},
        {"position": "learned", "activation": "swiglu", "embedding_dim": 8},
    ],
)
def test_our_constructors_draw_no_matrix(model):
    architecture = small(**model)
    assert drawn(lambda: build_decoder(architecture))[2] == 0


def test_the_initializer_draws_each_matrix_once():
    architecture = small(position="learned")
    matrices = drawn(lambda: initialized_decoder(architecture, 0))
    pieces = 2 + 1 + architecture.depth * (3 + 1 + 2)  # embedding, head, table; q, k, v; out, mlp
    assert matrices[2] == pieces


def test_what_is_not_drawn_takes_no_memory_until_it_is():
    architecture = small(position="learned", embedding_dim=8)
    bare, whole = build_decoder(architecture), initialized_decoder(architecture, 0)
    for name, parameter in bare.named_parameters():
        held = parameter.untyped_storage().nbytes()
        assert held == (4 if parameter.ndim >= 2 else parameter.nbytes), name
        assert parameter.shape == whole.get_parameter(name).shape
    assert all(parameter.is_contiguous() for parameter in whole.parameters())


def test_what_a_stranger_builds_has_its_memory():
    decoder = build_decoder(small(feed_forward="heads", initializer="careless"))
    assert all(parameter.is_contiguous() for parameter in decoder.parameters())


def test_a_strangers_constructor_sees_what_ours_have_drawn():
    decoder = initialized_decoder(small(placement="narrowing"), 0)
    bound = small().d_model ** -0.5
    assert 0.01 * bound < decoder.blocks[0].size < 0.1 * bound
    assert not any(map(lacks_memory, decoder.parameters()))


def test_what_a_stranger_holds_in_any_order_keeps_its_values():
    decoder = initialized_decoder(small(feed_forward="turned"), 0)
    for block in decoder.blocks:
        rotation = block.feed_forward.rotation.detach()
        assert not rotation.is_contiguous()
        assert torch.allclose(rotation @ rotation.T, torch.eye(32), atol=1e-5)
        assert torch.equal(block.feed_forward.steps.detach(), torch.linspace(0, 1, 64)[::2])


def test_shapes_alone_are_as_torch_makes_them():
    for parameter in skeleton(small(position="learned")).parameters():
        assert parameter.is_contiguous()
        assert parameter.untyped_storage().nbytes() == parameter.nbytes
