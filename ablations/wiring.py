"""How a block is wired: its parts in the order of their calls, and what each was computed from.

Seen in one pass on shapes alone, so that a stranger's placement is told as it is.
Shapes: B batch, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ablations.architecture import Architecture, BlockChoices
from ablations.decoder import Decoder, skeleton
from ablations.strangers import is_ours
from ablations.watching import computed_from
from registry.spec import Choice

PARTS = ("norm", "attention", "feed_forward", "residual")
STREAM, OUT, UNSEEN = 0, "out", "unseen"
MAX_NODES = 10_000
"""Steps of a computation that are searched for what a tensor was computed from."""

_TOKENS = 8


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a part; `inputs` are the numbers of the calls that it was computed from.

    Calls are numbered from 1; 0 is the stream as it enters the block. The last, whose part is
    `OUT`, is what leaves it.
    """

    part: str
    inputs: tuple[int, ...]


def wiring(architecture: Architecture, layer: int) -> list[Call]:
    """The calls of one block of an architecture; those of parts inside a part are left out.

    Raises: what building the block or calling it on the meta device does; ValueError where its
        result does not come from its stream.
    """
    alone = replace(architecture, layers=(architecture.layers[layer],), share_layers=1)
    decoder = skeleton(alone)
    seen = _Calls()
    stream = torch.empty(
        1, min(architecture.context, _TOKENS), architecture.d_model, device="meta"
    ).requires_grad_()  # (B, T, D)
    x = stream * 1  # what a graph leads to has a node of its own
    seen.known[x.grad_fn] = STREAM
    hooks = [hook for part, module in _parts(decoder) for hook in seen.watch(part, module)]
    try:
        out = decoder.block(0)(x, **decoder.mixing(0))
    finally:
        for hook in hooks:
            hook.remove()
    inputs = seen.sources([out])
    if not inputs:
        raise ValueError("the block's result does not come from its stream")
    return [*seen.calls, Call(part=OUT, inputs=inputs)]


def _parts(decoder: Decoder) -> Iterator[tuple[str, nn.Module]]:
    for part, module in decoder.with_modules():
        if part.layer is not None and part.kind in PARTS:
            yield part.kind, module


class _Calls:
    """The outermost calls of parts; `known` is the call behind each node of autograd's graph."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.known: dict[Any, int] = {}
        self._inside = 0

    def watch(self, part: str, module: nn.Module) -> Iterator[Any]:
        yield module.register_forward_pre_hook(self._enter)
        yield module.register_forward_hook(partial(self._leave, part), with_kwargs=True)

    def _enter(self, _module: nn.Module, _args: object) -> None:
        self._inside += 1

    def _leave(
        self, part: str, _module: nn.Module, args: Any, kwargs: dict[str, Any], out: object
    ) -> None:
        self._inside -= 1
        if self._inside == 0 and isinstance(out, Tensor):
            self.calls.append(Call(part=part, inputs=self.sources([*args, *kwargs.values()])))
            self.known[out.grad_fn] = len(self.calls)

    def sources(self, given: Iterable[object]) -> tuple[int, ...]:
        """The calls that tensors were computed from, without those before these."""
        tensors = [one for one in given if isinstance(one, Tensor)]
        return tuple(sorted(computed_from(tensors, self.known, MAX_NODES)))


class Blocks:
    """The distinct blocks of a run: each placement with each residual once.

    They are called where the run is planned, so a block of which a part is a plugin's is not
    watched: its code runs in workers alone, which can be ended.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[Architecture, int] | None] = {}

    def add(self, architecture: Architecture) -> None:
        """Take in the blocks of a cell."""
        layers = {id(choices): layer for layer, choices in enumerate(architecture.layers)}
        for layer in layers.values():
            choices = architecture.layers[layer]
            key = choices.placement.label, choices.residual.label
            if self._first.get(key) is None:
                self._first[key] = (architecture, layer) if _ours(choices) else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `reports.frames.Frames.blocks`."""
        several = len({residual for _, residual in self._first}) > 1
        for (placement, residual), found in self._first.items():
            calls = _seen(*found) if found else [Call(part=UNSEEN, inputs=())]
            for number, call in enumerate(calls, start=1):
                yield {
                    "block": f"{placement}, residual {residual}" if several else placement,
                    "call": number,
                    "part": call.part,
                    "inputs": ", ".join(map(str, call.inputs)),
                }


def _ours(choices: BlockChoices) -> bool:
    values = (getattr(choices, field.name) for field in fields(choices))
    return all(is_ours(value.target) for value in values if isinstance(value, Choice))


def _seen(architecture: Architecture, layer: int) -> list[Call]:
    try:
        return wiring(architecture, layer)
    except Exception:
        return [Call(part=UNSEEN, inputs=())]
