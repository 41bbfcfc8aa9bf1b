"""Architectures that describe the same decoder."""

from __future__ import annotations

from typing import Any

from ablations.models.resolution import resolve
from ablations.models.sameness import same_model
from tests.ablations.dummies import parts


def test_models_are_the_same_whoever_wrote_their_options() -> None:
    def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return same_model(resolve(one, parts()), resolve(other, parts()))

    assert same({"norm": "rmsnorm"}, {"norm": {"rmsnorm": {"eps": 1e-5}}})
    assert same({"d_ff": 1024}, {})
    assert same({"feed_forward": "own"}, {"feed_forward": "own", "activation": "silu"})
    assert not same({}, {"activation": "silu"})
    assert not same({}, {"norm": "rmsnorm"})
    assert not same({}, {"norm": {"layers": ["layernorm", "rmsnorm"]}})
    assert not same({}, {"initializer": {"normal": {"std": 1}}})
    assert not same({}, {"embedding_norm": "rmsnorm"})
    assert not same({}, {"depth": 6})
    assert not same({}, {"final_norm": False})
    assert same({}, {"final_norm": True}), "its placement asks for one"
