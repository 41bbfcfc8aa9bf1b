"""Decoders composed of parts: what they come to is what the built ones do, whatever they hold."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ablations.architecture import Architecture
from ablations.counting.outline import Outline, Outlines
from ablations.counting.part import Refused
from ablations.decoder import skeleton
from ablations.models.resolution import Resolver
from ablations.recipes.recipe import read_recipe, recipe_names
from registry import Catalog, ComponentSpec, Dims, Incompatible, PluginRecord, Provenance
from registry.discovery import with_plugins
from registry.spec import Kind
from tests.ablations import decoders, strangers

PLUGINS = Path(__file__).parents[2] / "plugins"
INSTALLABLE = ("differential", "dyt", "gated_linear", "mixture_of_experts", "mup")


class Tied(nn.Module):
    """A norm of which all have one and the same weight."""

    weight = nn.Parameter(torch.ones(32, device="meta"))

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.shared = self.weight


class Tying(strangers.OtherNames):
    """A placement whose second norm has the first one's weights."""

    def __init__(self, dims: Dims, norm: Any, feed_forward: Any, attention: Any, residual: Any):
        super().__init__(dims, norm, feed_forward, attention, residual)
        self.norms[1] = self.norms[0]


class Deep(nn.Module):
    """A norm that is wider the deeper it lies, of which only its own sizes tell."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims.layer + 1, dims.depth))


class Odd(nn.Module):
    """An activation that is gated in every other layer."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.gated = bool(dims.layer % 2)


class Counting(nn.Module):
    """A norm with a parameter that is no real number, and one that is two."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.zeros(3, dtype=torch.int64), requires_grad=False)
        self.turns = nn.Parameter(torch.zeros(5, dtype=torch.complex64))


class Picky(nn.Module):
    """A norm that looks at the whole model before it is built."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()

    @classmethod
    def unsupported(cls, dims: Dims, model: Architecture) -> str | None:
        if model.vocab_size == 48 and model.layers[0].activation.name == "gelu":
            return f"not beside gelu over {model.vocab_size} tokens, of {model.depth} layers"
        return None


class Nested(nn.Module):
    """A feed-forward with an attention of its own, another norm's width, and one given up."""

    def __init__(self, dims: Dims, norm: Any, attention: Any) -> None:
        super().__init__()
        self.norm = norm(dims.resized(d_model=dims.d_ff))
        self.mixer = attention()
        norm()


OWN: dict[str, dict[str, type]] = {
    "norm": {"tied": Tied, "deep": Deep, "counting": Counting, "picky": Picky}
    | {name: strangers.NORMS[name] for name in ("even", "never", "breaking", "exiting")},
    "activation": {"odd": Odd},
    "feed_forward": {"nested": Nested},
    "placement": {"tying": Tying},
}


@functools.cache
def catalog() -> Catalog:
    """The built-ins, what plugins of the tests bring, and the strangers above."""
    provenance = Provenance(distribution="strange", version="1.0")
    specs = tuple(
        ComponentSpec(kind=kind, name=name, target=target, provenance=provenance)
        for kind, targets in OWN.items()
        for name, target in targets.items()
    )
    record = PluginRecord(name="strange:sizes", version="1.0", state="loaded", specs=specs)
    known = Catalog([*decoders.catalog().plugins, record])
    return with_plugins(known, [str(PLUGINS / name / f"{name}.py") for name in INSTALLABLE])


@functools.cache
def levels(kind: str) -> list[Any]:
    """Every component of a kind, with each of its examples' options, and two side by side."""
    needed = {"fading": {"factor": 2.0}, "tanh": {"alpha": 2.0}}
    found: list[Any] = []
    for spec in catalog().components():
        if spec.kind == kind:
            name = catalog().name_of(spec)
            options = [dict(example.options) for example in spec.examples]
            found += [{name: given} for given in options or [needed.get(name, {})]]
    if kind != Kind.INITIALIZER:
        found += [{"layers": [one, other]} for one, other in itertools.pairwise(found)]
    return found


def models() -> st.SearchStrategy[dict[str, Any]]:
    """Models of all kinds: ours three times as often as all others, so that many can be built."""
    ours = {
        "norm": ["layernorm", "rmsnorm", "none"],
        "activation": ["gelu", "swiglu"],
        "feed_forward": ["mlp"],
        "attention": ["mha", {"gqa": {"n_kv_heads": 2}}, {"mha": {"qk_norm": "per_head"}}],
        "position": ["learned", "rope", "alibi"],
        "residual": ["add", "none"],
        "placement": ["pre", "post", "parallel", "deepnorm"],
        "initializer": ["normal"],
    }
    parts = {
        kind: st.one_of(*[st.sampled_from(known)] * 3, st.sampled_from(levels(kind)))
        for kind, known in ours.items()
    }
    sizes: dict[str, list[Any]] = {
        "depth": [1, 2, 3, 4],
        "d_model": [32, 48],
        "n_heads": [4, 2],
        "head_dim": [None, 8],
        "context": [8, 16],
        "vocab_size": [48, 64],
        "d_ff": [None, 40, {"multiple_of_d_model": 2}, {"layers": [24, 40]}],
        "bias": [True, False, {"head": True, "qkv": False}],
        "tie_embeddings": [False, True],
        "final_norm": ["auto", True, False],
        "embedding_norm": [None, "rmsnorm", "deep", "even"],
        "embedding_dim": [None, 16],
        "dropout": [0, 0.1],
        "share_layers": [1, 1, 2],
    }
    return st.fixed_dictionaries(
        parts | {key: st.sampled_from(given) for key, given in sizes.items()}
    )


def resolved(resolver: Resolver, model: dict[str, Any]) -> Architecture | None:
    try:
        return resolver.architecture(model)
    except Incompatible:
        return None


def built(architecture: Architecture, dtype: torch.dtype) -> Outline | Refused:
    """The same of the decoder itself."""
    try:
        decoder = skeleton(architecture).to(dtype)
    except Incompatible as reason:
        return Refused(reason=str(reason))
    except (Exception, SystemExit):
        return Refused(reason=None)
    return Outline(architecture=architecture, sizes=decoder.sizes)


RESOLVER = Resolver(catalog())
OUTLINES = {dtype: Outlines(dtype) for dtype in (torch.float32, torch.bfloat16, torch.float64)}
"""Kept from example to example, so that most parts have been seen beside others before."""


@given(model=models(), dtype=st.sampled_from(sorted(OUTLINES, key=str)))
@settings(max_examples=400, deadline=None)
def test_every_decoder_comes_to_what_it_is_built_as(
    model: dict[str, Any], dtype: torch.dtype
) -> None:
    architecture = resolved(RESOLVER, model)
    if architecture is not None:
        assert OUTLINES[dtype].of(architecture) == built(architecture, dtype)


def test_the_property_is_of_decoders_of_every_sort() -> None:
    for kind in Kind:
        assert len(levels(kind)) >= 4, kind


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_comes_to_what_it_is_built_as(name: str) -> None:
    architecture = RESOLVER.architecture(dict(read_recipe(name).model))
    found = Outlines(torch.float32).of(architecture)
    assert isinstance(found, Outline)
    assert found == built(architecture, torch.float32)
