"""The ways in which a component of each kind is called.

B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim, F hidden width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from registry.conformance.standins import Biasing, Rotating
from registry.spec import Kind

Shape = tuple[str, ...]
Invoke = Callable[[Any, Sequence[Tensor], Tensor, int], Any]
"""A module, its inputs, the tokens' positions (T,) and a number of heads → what it returns."""

STREAM: Shape = ("B", "T", "D")
HIDDEN: Shape = ("B", "T", "F")
QUERIES: Shape = ("B", "H", "T", "C")
KEYS: Shape = ("B", "K", "T", "C")
SCORES: Shape = ("H", "T", "T")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One way to call a component; `words` tells it from the plain way.

    A result need not have the dtype of an input that there is none of (`own_dtype`).
    """

    words: str
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    invoke: Invoke
    own_dtype: bool = False


def calls(kind: Kind, component: Any) -> list[Call]:
    """Every way to call this component."""
    if kind is Kind.INITIALIZER:
        return []
    if kind is Kind.POSITION:
        return [call for hook, call in HOOKS.items() if hasattr(component, hook)]
    if kind is Kind.ACTIVATION:
        shapes = (HIDDEN, HIDDEN) if getattr(component, "gated", False) else (HIDDEN,)
        return [_forward(shapes, HIDDEN)]
    if kind is Kind.RESIDUAL:
        return [_forward((STREAM, STREAM), STREAM)]
    plain = _forward((STREAM,), STREAM)
    if kind is Kind.ATTENTION and getattr(component, "position_hooks", False):
        rotated = _positioned("a rotating position", Rotating())
        return [plain, rotated, _positioned("a position bias", Biasing())]
    return [plain]


def _forward(inputs: tuple[Shape, ...], output: Shape) -> Call:
    return Call(
        words="",
        inputs=inputs,
        outputs=(output,),
        invoke=lambda module, tensors, positions, heads: module(*tensors),
    )


def _positioned(words: str, position: Any) -> Call:
    return Call(
        words=f"with {words}",
        inputs=(STREAM,),
        outputs=(STREAM,),
        invoke=lambda module, tensors, positions, heads: module(*tensors, position=position),
    )


HOOKS = {
    "embed": Call(
        words="in embed",
        inputs=(STREAM,),
        outputs=(STREAM,),
        invoke=lambda module, tensors, positions, heads: module.embed(*tensors, positions),
    ),
    "rotate": Call(
        words="in rotate",
        inputs=(QUERIES, KEYS),
        outputs=(QUERIES, KEYS),
        invoke=lambda module, tensors, positions, heads: module.rotate(*tensors, positions),
    ),
    "bias": Call(
        words="in bias",
        inputs=(),
        outputs=(SCORES,),
        invoke=lambda module, tensors, positions, heads: module.bias(heads, positions, positions),
        own_dtype=True,
    ),
}
