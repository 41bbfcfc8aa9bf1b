"""When a result may be reused: identities of (cell, measure) pairs, from content and sources."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ablations.architecture import Architecture
from registry.spec import Choice

ENGINE = ("architecture", "decoder", "initialization", "observation", "trial")
"""Modules of this package whose code enters every measured figure."""


def identity(
    content: Mapping[str, Any],
    architecture: Architecture,
    measure: Choice,
    bit_bending: Mapping[str, str],
) -> str:
    """A digest that changes whenever the figures of a measure of a cell might.

    It covers the cell's content, the measure's options, what bends bits, and the Python files of
    the engine, of the measure and of every package whose components the cell uses: an edited
    plugin is measured anew, the rest is reused.
    """
    targets = sorted({choice.target for choice in components_of(architecture)} | {measure.target})
    document = {
        "content": content,
        "measure": [measure.name, measure.target, dict(measure.options)],
        "bits": dict(bit_bending),
        "engine": [_source(f"ablations.{module}") for module in ENGINE],
        "sources": [_source(target.partition(":")[0]) for target in targets],
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


@cache
def _source(module: str) -> str:
    """Digest of the Python files behind a module: of this package its file, else all of its
    top-level package's, since parts import each other."""
    top = module.partition(".")[0]
    if top == "ablations":
        spec = importlib.util.find_spec(module)
        files = [Path(spec.origin)] if spec and spec.origin else []
    else:
        files = _package_files(top)
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _package_files(top: str) -> list[Path]:
    spec = importlib.util.find_spec(top)
    if spec is None:
        return []
    if spec.submodule_search_locations is None:
        return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
    return sorted(
        file for folder in spec.submodule_search_locations for file in Path(folder).rglob("*.py")
    )
