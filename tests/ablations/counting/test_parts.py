"""Parts counted alone: each is built once for all that it asks, and asked anew for what differs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from ablations.counting.outline import Outline, Outlines
from ablations.counting.part import Part, Refused
from ablations.counting.parts import Parts
from ablations.models.resolution import Resolver
from ablations.recall import situation
from registry import Catalog, ComponentSpec, Dims, PluginRecord, Provenance, discover
from tests.ablations import strangers

BASE: dict[str, Any] = {"depth": 4, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 64}
NORM = {"parameters": nn.Parameter(torch.ones(2, device="meta"))}


class OfLayer(nn.Module):
    """A norm with as many parameters as blocks lie before it."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.layer))


class Owning(nn.Module):
    """A norm with a parameter that the attention below has too."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = NORM["parameters"]


class Borrowing(strangers.Mean):
    """An attention with a parameter that the norm above has too."""

    def __init__(self, dims: Dims) -> None:
        super().__init__(dims)
        self.weight = NORM["parameters"]


class Growing(nn.Module):
    """A norm that has one more parameter each time it is built."""

    built = 0

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        Growing.built += 1
        self.weight = nn.Parameter(torch.ones(Growing.built))


STRANGERS: dict[str, tuple[str, type]] = {
    "of_layer": ("norm", OfLayer),
    "owning": ("norm", Owning),
    "growing": ("norm", Growing),
    "borrowing": ("attention", Borrowing),
    "mean": ("attention", strangers.Mean),
    "other_names": ("placement", strangers.OtherNames),
}


@pytest.fixture
def resolver() -> Resolver:
    provenance = Provenance(distribution="strange", version="1.0")
    specs = tuple(
        ComponentSpec(kind=kind, name=name, target=target, provenance=provenance)
        for name, (kind, target) in STRANGERS.items()
    )
    record = PluginRecord(name="strange:parts", version="1.0", state="loaded", specs=specs)
    return Resolver(Catalog([*discover().plugins, record]))


def test_a_part_is_built_once_for_all_that_it_asks(resolver: Resolver) -> None:
    outlines = Outlines(torch.float32)
    for depth in (2, 4, 6):
        for context in (8, 16):
            for vocab_size in (64, 128):
                sizes = {"depth": depth, "context": context, "vocab_size": vocab_size}
                outlines.of(resolver.architecture({**BASE, **sizes}))
    (norm,) = resolver.chooser.components("norm", "layernorm")
    (shape,) = outlines._parts._shapes[id(norm)].values()
    assert (shape.read, len(shape.known)) == (("d_model",), 1)
    (attention,) = resolver.chooser.components("attention", "mha")
    (shape,) = outlines._parts._shapes[id(attention)].values()
    assert len(shape.known) == 1
    assert not {"layer", "depth", "context"} & set(shape.read)


def test_what_asks_for_its_layer_is_another_in_each(resolver: Resolver) -> None:
    architecture = resolver.architecture({**BASE, "norm": "of_layer", "position": "none"})
    parts = Parts()
    found = [
        parts.count("norm", block.norm, situation(architecture, layer), layer)
        for layer, block in enumerate(architecture.layers)
    ]
    assert [part.parameters for part in found if isinstance(part, Part)] == [0, 1, 2, 3]
    block = parts.count(
        "placement", architecture.layers[2].placement, situation(architecture, 2), 2
    )
    assert isinstance(block, Part)
    assert block.of_its_layer


def test_a_placement_is_refused_for_what_it_makes(resolver: Resolver) -> None:
    parts = Parts()
    for heads, reason in ((3, "n_kv_heads must divide n_heads: got 3 and 4"), (2, None)):
        model = {**BASE, "attention": {"gqa": {"n_kv_heads": heads}}}
        architecture = resolver.architecture(model)
        block = architecture.layers[0]
        for _ in range(2):  # learnt, and remembered
            found = parts.count("placement", block.placement, situation(architecture, 0))
            assert (found == Refused(reason=reason)) is (reason is not None)


@pytest.mark.parametrize(
    "model",
    [
        {"norm": "owning"},
        {"norm": "growing"},
        {"norm": "owning", "attention": "borrowing", "position": "none"},
        {"norm": "none", "attention": "borrowing", "position": "none", "depth": 1},
    ],
)
def test_what_is_another_beside_others_is_built_whole(
    resolver: Resolver, model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    outlines = Outlines(torch.float32)
    outlines.of(resolver.architecture({**BASE, **model}))
    asked = []

    def whole(self: Outlines, architecture: Any) -> str:
        asked.append(architecture)
        return "built whole"

    monkeypatch.setattr(Outlines, "_built", whole)
    again = resolver.architecture({**BASE, **model, "vocab_size": 96})
    assert outlines.of(again) == "built whole"  # type: ignore[comparison-overlap]
    assert isinstance(outlines.of(resolver.architecture(BASE)), Outline)
    assert asked == [again]


def test_what_two_parts_share_is_found_when_the_second_is_built(resolver: Resolver) -> None:
    parts = Parts()
    architecture = resolver.architecture(
        {**BASE, "norm": "owning", "attention": "borrowing", "position": "none"}
    )
    block = architecture.layers[0]
    own = situation(architecture, 0)
    parts.count("attention", block.attention, own)
    parts.count("norm", block.norm, own)
    assert parts.unsteady == {id(block.attention), id(block.norm)}


def test_a_strangers_placement_is_counted_as_one(resolver: Resolver) -> None:
    parts = Parts()
    totals = []
    for norm in ("layernorm", "rmsnorm", "none"):
        model = {**BASE, "placement": "other_names", "norm": norm}
        architecture = resolver.architecture(model)
        placement = architecture.layers[0].placement
        found = parts.count("placement", placement, situation(architecture, 0))
        assert isinstance(found, Part)
        totals.append(found.parameters)
        (shape,) = parts._shapes[id(placement)].values()
        assert shape.makes == ()
        assert {"norm", "attention", "feed_forward", "residual", "activation"} <= set(shape.read)
    assert [totals[0] - total for total in totals] == [0, 2 * 32, 2 * 2 * 32]
