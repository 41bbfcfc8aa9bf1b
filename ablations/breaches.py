"""Contracts that a forward pass can see broken, before its figures are taken for a component's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from ablations.assembly import Part
from ablations.decoder import Decoder

KEEPS_SHAPE = ("norm", "attention", "feed_forward", "residual", "placement")
"""Kinds whose output has the shape of their first input."""


class ContractBroken(RuntimeError):
    """A component did what its kind must not do; every figure of the pass would be another's."""


@contextmanager
def contracts_watched(decoder: Decoder) -> Iterator[None]:
    """Watch the components of a decoder during the passes inside.

    Raises: ContractBroken when one returns another shape than it was given, changes its input in
    place, or when a placement keeps `mixing` from its attention: a position would do nothing.
    """
    hooks = []
    for part, module in decoder.with_modules():
        if part.kind in KEEPS_SHAPE:
            watch = _Watch(part, decoder)
            hooks.append(module.register_forward_pre_hook(watch.before, with_kwargs=True))
            hooks.append(module.register_forward_hook(watch.after))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Watch:
    """One component, before and after each call."""

    def __init__(self, part: Part, decoder: Decoder) -> None:
        self._part = part
        self._decoder = decoder
        self._version = 0

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if args:
            self._version = args[0]._version
        part = self._part
        if part.kind != "attention" or part.layer is None:
            return
        position = self._decoder.mixing(part.layer).get("position")
        if position is not None and kwargs.get("position") is not position:
            choices = self._decoder.architecture.layers[part.layer]
            raise ContractBroken(
                f"placement {choices.placement.name!r} keeps position "
                f"{choices.position.name!r} from its attention: hand on **mixing unchanged"
            )

    def after(self, module: nn.Module, args: tuple[Any, ...], output: object) -> None:
        name = f"{self._part.kind} {self._part.name!r}"
        if not args:
            return
        x: Tensor = args[0]
        if x._version != self._version:
            raise ContractBroken(f"{name} changed its input in place")
        if not isinstance(output, Tensor):
            raise ContractBroken(f"{name} must return a tensor, not {type(output).__name__}")
        if output.shape != x.shape:
            raise ContractBroken(
                f"{name} must return the shape that it is given, {tuple(x.shape)}, "
                f"not {tuple(output.shape)}"
            )
