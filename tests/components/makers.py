"""Builds components for tests, as the engine does: makers by parameter name, options by keyword."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from torch import Tensor

from components import plugin
from registry import Catalog, ComponentSpec, Dims, Kind, PluginRecord

Choice = str | tuple[str, Mapping[str, Any]]
"""A component's name, or its name and options."""

ATTENTIONS: tuple[Choice, ...] = ("mha", ("gqa", {"n_kv_heads": 2}), "mqa")
POSITIONS: tuple[Choice, ...] = (
    "none",
    "learned",
    "sinusoidal",
    "rope",
    ("rope", {"style": "pairs", "fraction": 0.5}),
    "alibi",
)
PLACEMENTS: tuple[Choice, ...] = (
    "pre",
    "post",
    "sandwich",
    "post_sublayer",
    "parallel",
    ("parallel", {"norms": 2}),
    "deepnorm",
)
DEFAULTS: Mapping[str, Choice] = {
    "norm": "layernorm",
    "activation": "gelu",
    "feed_forward": "mlp",
    "attention": "mha",
    "position": "none",
    "residual": "add",
    "placement": "pre",
    "initializer": "normal",
}
SMALL = Dims(
    d_model=16, n_heads=4, n_kv_heads=4, head_dim=8, d_ff=20, context=12, depth=12, layer=3
)


@cache
def catalog() -> Catalog:
    """The built-in components alone."""
    specs = tuple(plugin.register_components())
    return Catalog([PluginRecord(name="built-in", version="0", state="loaded", specs=specs)])


def specs() -> list[ComponentSpec]:
    """Every built-in component."""
    return catalog().components()


def dims(**sizes: Any) -> Dims:
    """`SMALL` with other sizes."""
    return replace(SMALL, **sizes)


def build(
    kind: Kind | str, choice: Choice, sizes: Dims = SMALL, parts: Mapping[str, Choice] = DEFAULTS
) -> Any:
    """A component whose makers build what `parts` names."""
    name, options = (choice, {}) if isinstance(choice, str) else choice
    found = catalog()
    spec = found.component(kind, name)

    def maker(part: str) -> Any:
        return lambda other=None: build(part, parts[part], other or sizes, parts)

    makers = {part: maker(part) for part in found.signature(spec).makers}
    chosen = found.choose(spec, options)
    return chosen.load()(sizes, **makers, **chosen.options)


def block(sizes: Dims = SMALL, *, dtype: torch.dtype = torch.float64, **parts: Choice) -> Any:
    """A block of the given components with every parameter random, in eval mode."""
    chosen = {**DEFAULTS, **parts}
    return randomize(build("placement", chosen["placement"], sizes, chosen), dtype=dtype)


def randomize(module: Any, *, dtype: torch.dtype = torch.float64, seed: int = 0) -> Any:
    """Every parameter drawn anew, one stream a name, so that equal names get equal values."""
    module = module.to(dtype).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            generator = torch.Generator().manual_seed(seed + sum(name.encode()))
            parameter.normal_(0.0, 0.4, generator=generator)
            if parameter.ndim == 1 and name.endswith("norm.weight"):
                parameter.add_(1.0)
    return module


def tokens(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    """Normal numbers from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def embedded(position: Any, x: Tensor) -> Tensor:
    """x (B, T, D) with positions added if this position adds any."""
    if not hasattr(position, "embed"):
        return x
    added: Tensor = position.embed(x, torch.arange(x.shape[1], device=x.device))
    return added


def label(choice: Choice) -> str:
    """A test's name for a choice."""
    return choice if isinstance(choice, str) else f"{choice[0]}-{'-'.join(choice[1])}"
