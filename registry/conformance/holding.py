"""The bytes of all tensors that an object holds, found by walking it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor


def bytes_held(thing: Any, others: Iterable[Tensor] = ()) -> int:
    """The bytes of every tensor's whole storage, each counted once, those of `others` left out."""
    known = {tensor.untyped_storage().data_ptr() for tensor in others}
    storages = {
        storage.data_ptr(): storage.nbytes()
        for tensor in tensors_of(thing)
        if (storage := tensor.untyped_storage()).data_ptr() not in known
    }
    return sum(storages.values())


def tensors_of(thing: Any) -> Iterator[Tensor]:
    """The tensors in an object's attributes, items and theirs, however deep."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, (type, str, bytes)):
            continue
        seen.add(id(part))
        if isinstance(part, Tensor):
            yield part
            continue
        if isinstance(part, torch.nn.Module):
            waiting += [*part.parameters(), *part.buffers()]
        if isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        waiting += getattr(part, "__dict__", {}).values()
        waiting += [
            getattr(part, name)
            for cls in type(part).__mro__
            for name in _slots(cls)
            if hasattr(part, name)
        ]


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
