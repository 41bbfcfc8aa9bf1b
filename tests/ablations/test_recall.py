"""What is read of sizes and models is noted, and what was returned is found again by it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from typing import Any

import pytest

from ablations.models.resolution import Resolver
from ablations.recall import (
    SIZES,
    Recall,
    changes_of,
    situation,
    watched_architecture,
    watched_dims,
)
from registry import Dims
from tests.ablations.dummies import parts

DIMS = Dims(d_model=32, n_heads=4, n_kv_heads=2, head_dim=8, d_ff=64, context=16, depth=3, layer=1)


def architecture(**model: Any) -> Any:
    return Resolver(parts()).architecture({"d_model": 32, **model})


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        (lambda dims: None, set()),
        (lambda dims: dims.d_model * dims.d_ff, {"d_model", "d_ff"}),
        (lambda dims: getattr(dims, "missing", None), set()),
        (lambda dims: isinstance(dims, Dims), set()),
        (lambda dims: dims.resized(d_model=8), set()),
        (lambda dims: dims.resized(d_model=8).d_model, set()),
        (lambda dims: dims.resized(d_model=8).depth, {"depth"}),
        (lambda dims: dims.resized(d_model=8).resized(depth=2).d_model, set()),
        (lambda dims: replace(dims, d_model=8), set(SIZES) - {"d_model"}),
        (asdict, set(SIZES)),
        (astuple, set(SIZES)),
        (repr, set(SIZES)),
        (hash, set(SIZES)),
        (vars, set(SIZES)),
        (copy.copy, set(SIZES)),
        (lambda dims: dims == DIMS, set(SIZES)),
    ],
)
def test_what_is_read_of_sizes_is_noted(reads: Callable[[Dims], Any], expected: set[str]) -> None:
    noted: set[str] = set()
    dims = watched_dims(DIMS, noted)
    found = reads(dims)
    assert noted == expected  # and only then is more read of it
    assert found == reads(DIMS)
    assert (dims, asdict(dims), repr(dims)) == (DIMS, asdict(DIMS), repr(DIMS))


def test_sizes_tell_how_they_differ_from_those_that_they_were_made_of() -> None:
    dims = watched_dims(DIMS, set())
    assert changes_of(dims) == ()
    assert changes_of(dims.resized(layer=0, d_model=8)) == (("d_model", 8), ("layer", 0))
    assert dict(changes_of(replace(dims, d_model=8))) == asdict(replace(DIMS, d_model=8))
    with pytest.raises(TypeError):
        dims.resized(width=8)


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        (lambda model: model.vocab_size, {"vocab_size"}),
        (lambda model: model.depth, {"layers"}),
        (lambda model: model.layers[0].norm.name, {"layers"}),
        (
            lambda model: model.dims(2),
            {"layers", "d_model", "n_heads", "head_dim", "context", "attention_dropout"}
            | {"qkv_bias", "out_bias", "feed_forward_bias"},
        ),
    ],
)
def test_what_is_read_of_a_model_is_noted(reads: Callable[[Any], Any], expected: set[str]) -> None:
    noted: set[str] = set()
    model = architecture()
    assert reads(watched_architecture(model, noted)) == reads(model)
    assert noted == {f"model.{name}" for name in expected}


def test_a_situation_has_all_that_can_be_read() -> None:
    resolver = Resolver(parts())
    model = resolver.architecture({"norm": {"layers": ["layernorm", "rmsnorm"]}, "depth": 2})
    own = situation(model, 1)
    assert own.dims == model.dims(1)
    assert own["norm"] == id(model.layers[1].norm)
    assert own["model.initializer"] == id(model.initializer)
    assert own["model.vocab_size"] == 256
    other = resolver.architecture({"norm": "layernorm", "depth": 2})
    assert own["model.layers"] != situation(other, 0)["model.layers"]
    resized = own.resized((("d_model", 8),))
    assert (resized["d_model"], own["d_model"], resized["depth"]) == (8, 256, 2)


def test_a_result_is_found_by_what_was_read_alone() -> None:
    recall: Recall[str] = Recall()
    small, large = situation(architecture(), 0), situation(architecture(vocab_size=512), 0)
    assert recall.find(small) is None
    recall.keep({"model.vocab_size", "d_model"}, small, "small")
    assert (recall.find(small), recall.find(large)) == ("small", None)
    recall.keep({"model.vocab_size"}, large, "large")
    assert (recall.find(small), recall.find(large)) == ("small", "large")
    recall.keep((), small, "whatever")
    assert recall.find(situation(architecture(vocab_size=1024), 0)) == "whatever"


def test_no_more_results_are_kept_than_it_is_told() -> None:
    recall: Recall[int] = Recall(2)
    situations = [situation(architecture(vocab_size=size), 0) for size in (8, 16, 32)]
    for number, own in enumerate(situations):
        recall.keep(("model.vocab_size",), own, number + 1)
    assert [recall.find(own) for own in situations] == [None, None, 3]
