"""Small decoders for tests, from what `model` of a grid may hold."""

from typing import Any

import torch

import ablations
from ablations.architecture import Architecture
from ablations.models.resolution import resolve
from registry import Catalog, ComponentSpec, PluginRecord, Provenance, discover
from tests.ablations import strangers

STRANGERS = {
    "norm": {
        "drawing": strangers.Drawing,
        "in_place": strangers.InPlace,
        "fading": strangers.Fading,
        "tanh": strangers.Tanh,
    },
    "initializer": {"careless": strangers.Careless, "slow_queries": strangers.SlowQueries},
    "placement": {
        "other_names": strangers.OtherNames,
        "hiding": strangers.Hiding,
        "keeping": strangers.Keeping,
        "narrowing": strangers.Narrowing,
        "undecided": strangers.Undecided,
        "veiled": strangers.Veiled,
        "twice": strangers.Twice,
    },
    "attention": {
        "mean": strangers.Mean,
        "narrow": strangers.Narrow,
        "pair": strangers.Pair,
        "unmasked": strangers.Unmasked,
    },
    "feed_forward": {
        "balancing": strangers.Balancing,
        "heads": strangers.Heads,
        "penalized": strangers.Penalized,
        "turned": strangers.Turned,
        "roles": strangers.Roles,
        "wrong_ranges": strangers.WrongRanges,
        "wrong_name": strangers.WrongName,
    },
    "position": {"per_layer": strangers.PerLayer, "table_each": strangers.TableEach},
}


def catalog() -> Catalog:
    """The built-ins and a stranger's components."""
    provenance = Provenance(distribution="strange", version="1.0")
    specs = tuple(
        ComponentSpec(kind=kind, name=name, target=target, provenance=provenance)
        for kind, targets in STRANGERS.items()
        for name, target in targets.items()
    )
    record = PluginRecord(name="strange:parts", version="1.0", state="loaded", specs=specs)
    return Catalog([*discover().plugins, record])


SMALL = {"depth": 3, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 64}


def small(**model: Any) -> Architecture:
    """A small architecture; keys given replace the small ones."""
    return resolve({**SMALL, **model}, catalog())


def build(seed: int = 0, **model: Any) -> ablations.Decoder:
    """A small decoder with its initial weights, in float32."""
    return ablations.build({**SMALL, **model}, seed=seed, catalog=catalog())


def tokens(batch: int = 2, length: int = 16, vocab_size: int = 64, seed: int = 0) -> torch.Tensor:
    """Random token ids (B, T)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocab_size, (batch, length), generator=generator)
