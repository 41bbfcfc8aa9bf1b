"""How blocks of a decoder are wired: their parts in the order of their calls, and what each was
computed from.

Seen in one pass, so that a stranger's placement is told as it is. Shapes: B batch, T tokens, D
d_model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ablations.blocks import OUT, STREAM, Call, Wiring
from ablations.decoder import Decoder
from ablations.watching import computed_from

PARTS = ("norm", "attention", "feed_forward", "residual")
MAX_NODES = 1_000_000
"""Steps of a computation that are searched for what a tensor was computed from: more than a pass
that ends has."""

_BATCH = 2


def wirings(decoder: Decoder, layers: Sequence[int], tokens: int) -> tuple[Wiring, ...]:
    """How its blocks in those layers are wired, layers that are alike together.

    Seen in a pass of so many tokens; on the meta device on shapes alone.

    Raises: what calling a block does; TypeError where one of its parts returns no tensor;
        ValueError where its result does not come from its stream.
    """
    found: dict[tuple[Call, ...], list[int]] = {}
    for layer in layers:
        found.setdefault(_calls(decoder, layer, tokens), []).append(layer)
    return tuple(Wiring(layers=tuple(alike), calls=calls) for calls, alike in found.items())


def _calls(decoder: Decoder, layer: int, tokens: int) -> tuple[Call, ...]:
    """The calls of parts in one block; those of parts inside a part are left out."""
    size = _BATCH, tokens, decoder.architecture.d_model
    block, seen = decoder.block(layer), _Calls()
    with torch.enable_grad():  # a stranger may have turned it off
        stream = torch.empty(size, device=decoder.device)  # (B, T, D)
        if not stream.is_meta:
            stream.normal_()
        x = stream.requires_grad_() * 1  # what a graph leads to has a node of its own
        seen.known[x.grad_fn] = STREAM
        within = set(block.modules())
        hooks = [
            hook
            for part, module in decoder.with_modules()
            if part.kind in PARTS and module in within
            for hook in seen.watch(part.kind, module)
        ]
        try:
            out = block(x, **decoder.mixing(layer))
        finally:
            for hook in hooks:
                hook.remove()
    inputs = seen.sources([_tensor("the block", out)])
    if not inputs:
        raise ValueError("the block's result does not come from its stream")
    return (*seen.calls, Call(part=OUT, inputs=inputs))


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
        self, part: str, _module: nn.Module, args: Any, kwargs: dict[str, Any], returned: object
    ) -> Tensor | None:
        self._inside -= 1
        if self._inside:
            return None
        out = _tensor(part, returned)
        self.calls.append(Call(part=part, inputs=self.sources([*args, *kwargs.values()])))
        with torch.enable_grad():
            if not out.requires_grad:
                out = out.detach().requires_grad_()
            if out.grad_fn is None or out.grad_fn in self.known:
                # What a part hands on as it came is its result, and what it was given is not.
                out = out.view_as(out)
        self.known[out.grad_fn] = len(self.calls)
        return out

    def sources(self, given: Iterable[object]) -> tuple[int, ...]:
        """The calls that tensors were computed from, without those before these."""
        tensors = [one for one in given if isinstance(one, Tensor)]
        return tuple(sorted(computed_from(tensors, self.known, MAX_NODES)))


def _tensor(what: str, returned: object) -> Tensor:
    if not isinstance(returned, Tensor):
        raise TypeError(f"{what} must return a tensor, not {type(returned).__name__}")
    return returned
