"""When a result may be reused: identities of (cell, measure) pairs, from content and sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ablations.architecture import Architecture, BlockChoices
from ablations.models.model import PER_BLOCK
from ablations.read_files import ReadFiles
from ablations.sources import Sources
from registry.spec import Choice

ENGINE = (
    "architecture",
    "assembly",
    "breaches",
    "checkpoints",
    "data",
    "decoder",
    "devices",
    "executors.caches",
    "executors.failures",
    "gradient_norms",
    "initialization",
    "kept_decoders",
    "losses",
    "measures.of_a_pass",
    "measures.trends",
    "observation",
    "printable",
    "results",
    "sizes",
    "strangers",
    "streams",
    "trial",
    "undrawn",
    "warned",
    "watching",
    "weight_bank",
    "whole_files",
)
"""Modules of this package whose code every figure passes through."""

TRAINED = (
    "measures.gradient_flow",
    "measures.of_training",
    "measures.signal_propagation",
    "tasks",
    "training.evaluating",
    "training.loop",
    "training.material",
    "training.optimizing",
    "training.texts",
)
COUNTED = (
    "counting.decoding",
    "counting.fused_attention",
    "counting.growth",
    "counting.step",
    "declared.costs",
    "declared.profiles",
    "training.optimizing",
)
BESIDE = {
    "ablations.measures.costs": COUNTED,
    "ablations.measures.one_step": TRAINED,
    "ablations.measures.training": (*TRAINED, "training.summary"),
}
"""Modules that the figures of a measure pass through, beside those and its own."""


def identity(
    content: Mapping[str, Any],
    architecture: Architecture,
    measure: Choice,
    bit_bending: Mapping[str, str],
    sources: Sources,
    files: ReadFiles,
    baseline: Architecture | None = None,
) -> str:
    """A digest that changes whenever the figures of a measure of a cell might.

    It covers the cell's content and what that resolves to (the rule for a width may change), the
    measure's options and the content of the files that it reads, what bends bits, and the Python
    files of the engine, of the measure and of every distribution whose components the cell uses:
    an edited plugin is measured anew, the rest is reused. `baseline` is the architecture that the
    measure builds beside the cell's; it counts as that does.

    Raises: StaleSource if a Python file was edited after this process imported it; UnreadableFile.
    """
    built = [architecture] if baseline is None else [architecture, baseline]
    used = {choice.target for one in built for choice in components_of(one)}
    targets = sorted(used | {measure.target})
    beside = BESIDE.get(measure.target.partition(":")[0], ())
    document = {
        "content": content,
        "architecture": described(architecture),
        "measure": [measure.name, measure.target, dict(measure.options)],
        "files": files.of(measure),
        "bits": dict(bit_bending),
        "engine": [sources.of(f"ablations.{module}") for module in (*ENGINE, *beside)],
        "sources": [sources.of(target) for target in targets],
    }
    if baseline is not None:
        document["baseline"] = described(baseline)
    text = json.dumps(document, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def components_by_kind(architecture: Architecture) -> Iterator[tuple[str, Choice, int]]:
    """Every component that a decoder is built from: its kind, the choice, and a layer with it."""
    layers: dict[int, int] = {}  # equal layers, of which a deep model has many, once
    for place, layer in enumerate(architecture.layers):
        layers.setdefault(id(layer), place)
    for place in layers.values():
        for kind in PER_BLOCK:
            yield kind, getattr(architecture.layers[place], kind), place
    yield "initializer", architecture.initializer, 0
    if architecture.embedding_norm is not None:
        yield "norm", architecture.embedding_norm, 0


def components_of(architecture: Architecture) -> Iterator[Choice]:
    """Every component that a decoder of this architecture is built from."""
    for _, choice, _ in components_by_kind(architecture):
        yield choice


def described(architecture: Architecture) -> dict[str, Any]:
    """Every resolved value; equal layers, of which a deep model has many, once."""
    unique = {id(layer): layer for layer in architecture.layers}
    places = {key: place for place, key in enumerate(unique)}
    document = {
        field.name: _plain(getattr(architecture, field.name))
        for field in fields(architecture)
        if field.name != "layers"
    }
    document["layers"] = [_plain(layer) for layer in unique.values()]
    document["order"] = [places[id(layer)] for layer in architecture.layers]
    return document


def _plain(value: object) -> object:
    """A value as JSON takes it; of a choice not which of its options a person wrote."""
    if isinstance(value, Choice):
        return [value.target, dict(value.options)]
    if isinstance(value, BlockChoices):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
