"""Decoding on the meta device: the bytes that caches hold, and the parameters that a token reads.

Shapes: B batch, T tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ablations.counting.fused_attention import FusedAttention
from ablations.counting.step import address
from ablations.decoder import Decoder

_LOOKUPS = frozenset(
    {
        torch.ops.aten.embedding,
        torch.ops.aten.gather,
        torch.ops.aten.index,
        torch.ops.aten.index_select,
        torch.ops.aten.take,
    }
)
"""Operations that read those numbers of a table that they return."""


@torch.no_grad()
def cache_bytes(decoder: Decoder, *, batch: int, length: int) -> int:
    """Bytes that the caches of all layers say they hold, after (B, T) tokens.

    Raises: Incompatible when an attention has no cache.
    """
    decoder.eval()
    caches = decoder.new_caches()
    tokens = torch.zeros(batch, length, dtype=torch.long, device="meta")
    with FusedAttention():
        decoder.hidden(tokens, caches=caches)
    return sum(int(cache.nbytes) for cache in caches)


@torch.no_grad()
def parameters_read(decoder: Decoder) -> int:
    """Parameters that the forward pass of one token reads.

    An operation that takes a parameter reads all of it, or of its view: a shared block's are read
    each time. An operation that looks up in one, as an embedding, reads what it returns.
    """
    decoder.eval()
    reading = _Reading(decoder.parameters())
    with reading:
        decoder(torch.zeros(1, 1, dtype=torch.long, device="meta"))
    return reading.count


class _Reading(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the numbers that operations read of some parameters."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0
        self._held = {address(p) for p in parameters}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        out = func(*args, **given)
        if not func.is_view:
            for taken in _tensors((*args, *given.values())):
                if address(taken) in self._held:
                    looked_up = func.overloadpacket in _LOOKUPS
                    self.count += out.numel() if looked_up else taken.numel()
        return out


def _tensors(values: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among arguments, those in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
