from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.holding import bytes_held, tensors_of


@dataclass
class Held:
    parts: list[Any] = field(default_factory=list)


class Slotted:
    __slots__ = ("inner", "never")

    def __init__(self, inner: Any) -> None:
        self.inner = inner


def four(count: int) -> Tensor:
    return torch.zeros(count)


def test_tensors_are_found_however_deep() -> None:
    module = nn.Linear(2, 3, bias=False)
    held = Held(parts=[{"a": four(1)}, (four(2), [four(3)]), Slotted(four(4)), module])
    held.parts.append(held)
    assert sorted(x.numel() for x in tensors_of(held)) == [1, 2, 3, 4, 6]
    assert bytes_held(held) == 4 * (1 + 2 + 3 + 4 + 6)


def test_whole_storages_are_counted_once() -> None:
    whole = four(100)
    assert bytes_held(SimpleNamespace(part=whole[:2])) == 400
    assert bytes_held(SimpleNamespace(one=whole[:2], other=whole[2:])) == 400


def test_what_others_hold_is_left_out() -> None:
    module = nn.Linear(2, 3)
    held = SimpleNamespace(owner=module, part=four(5))
    assert bytes_held(held, module.parameters()) == 20


def test_nothing_holds_nothing() -> None:
    assert bytes_held(None) == bytes_held("text") == bytes_held(Held) == 0
