"""The built-in components, one file a kind; they reach the engine through the entry point group.

The names below are imported when they are first used, so that `import components` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.activations import (
        GEGLU,
        GELU,
        GLU,
        Activation,
        GEGLUTanh,
        GELUTanh,
        ReGLU,
        ReLU,
        ReLUSquared,
        SiLU,
        SwiGLU,
    )
    from components.attention import (
        Attention,
        GroupedQueryAttention,
        MultiHeadAttention,
        MultiQueryAttention,
    )
    from components.attention_cache import KeyValueCache
    from components.feed_forwards import MLP
    from components.initializers import GPT2, KaimingUniform, Normal, Xavier
    from components.norms import LayerNorm, NoNorm, RMSNorm
    from components.placements import (
        DeepNorm,
        Parallel,
        Placement,
        Post,
        PostSublayer,
        Pre,
        Sandwich,
    )
    from components.positions import ALiBi, Learned, NoPosition, Rotary, Sinusoidal
    from components.residuals import Add, Gated, NoResidual, Scaled

ABLATIONS_PACKAGE = "ablations"
"""Marks this package as ours: other distributions also have one named `components`."""

__all__ = [
    "ABLATIONS_PACKAGE",
    "GEGLU",
    "GELU",
    "GLU",
    "GPT2",
    "MLP",
    "ALiBi",
    "Activation",
    "Add",
    "Attention",
    "DeepNorm",
    "GEGLUTanh",
    "GELUTanh",
    "Gated",
    "GroupedQueryAttention",
    "KaimingUniform",
    "KeyValueCache",
    "LayerNorm",
    "Learned",
    "MultiHeadAttention",
    "MultiQueryAttention",
    "NoNorm",
    "NoPosition",
    "NoResidual",
    "Normal",
    "Parallel",
    "Placement",
    "Post",
    "PostSublayer",
    "Pre",
    "RMSNorm",
    "ReGLU",
    "ReLU",
    "ReLUSquared",
    "Rotary",
    "Sandwich",
    "Scaled",
    "SiLU",
    "Sinusoidal",
    "SwiGLU",
    "Xavier",
]

_FILES = (
    "activations",
    "attention",
    "attention_cache",
    "feed_forwards",
    "initializers",
    "norms",
    "placements",
    "positions",
    "residuals",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for file in _FILES:
            module = importlib.import_module(f"components.{file}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module 'components' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
