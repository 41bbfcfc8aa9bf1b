"""When a result may be reused: identities of (cell, measure) pairs, from content and sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ablations.architecture import Architecture, BlockChoices
from ablations.sources import Sources
from registry.spec import Choice

ENGINE = (
    "architecture",
    "assembly",
    "breaches",
    "decoder",
    "initialization",
    "observation",
    "streams",
    "trial",
)
"""Modules of this package whose code enters every measured figure."""


def identity(
    content: Mapping[str, Any],
    architecture: Architecture,
    measure: Choice,
    bit_bending: Mapping[str, str],
    sources: Sources,
) -> str:
    """A digest that changes whenever the figures of a measure of a cell might.

    It covers the cell's content and what that resolves to (the rule for a width may change), the
    measure's options, what bends bits, and the Python files of the engine, of the measure and of
    every distribution whose components the cell uses: an edited plugin is measured anew, the rest
    is reused.

    Raises: StaleSource if such a file was edited after this process imported it.
    """
    targets = sorted({choice.target for choice in components_of(architecture)} | {measure.target})
    document = {
        "content": content,
        "architecture": _described(architecture),
        "measure": [measure.name, measure.target, dict(measure.options)],
        "bits": dict(bit_bending),
        "engine": [sources.of(f"ablations.{module}") for module in ENGINE],
        "sources": [sources.of(target) for target in targets],
    }
    text = json.dumps(document, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def components_of(architecture: Architecture) -> Iterable[Choice]:
    """Every component that a decoder of this architecture is built from."""
    kinds = (
        "norm",
        "activation",
        "feed_forward",
        "attention",
        "position",
        "residual",
        "placement",
    )
    for layer in {id(layer): layer for layer in architecture.layers}.values():
        yield from (getattr(layer, kind) for kind in kinds)
    yield architecture.initializer
    if architecture.embedding_norm is not None:
        yield architecture.embedding_norm


def _described(architecture: Architecture) -> dict[str, Any]:
    """Every resolved value; equal layers, of which a deep model has many, once."""
    unique = {id(layer): layer for layer in architecture.layers}
    places = {key: place for place, key in enumerate(unique)}
    described = {
        field.name: _plain(getattr(architecture, field.name))
        for field in fields(architecture)
        if field.name != "layers"
    }
    described["layers"] = [_plain(layer) for layer in unique.values()]
    described["order"] = [places[id(layer)] for layer in architecture.layers]
    return described


def _plain(value: object) -> object:
    """A value as JSON takes it; of a choice not which of its options a person wrote."""
    if isinstance(value, Choice):
        return [value.target, dict(value.options)]
    if isinstance(value, BlockChoices):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
