from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from registry import Incompatible
from registry.conformance.running import Suite
from tests.registry.conformance.capable import Capable, Held
from tests.registry.conformance.finding import Fault, found, outcome


class OffByOne(Capable):
    """Numbers new tokens from one too many."""

    def compared(self, x: Tensor, position: Any, start: int) -> Any:
        return super().compared(x, position, start + 1 if start else 0)


class Forgetful(Capable):
    """Looks at nothing that the cache holds."""

    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        if cache is not None:
            cache.extend(self.split(self.k(x)), self.split(self.v(x)))
        return super().forward(x, position=position)


class TopLeft(Capable):
    """Aligns its mask with the first key instead of the last."""

    def hidden(self, places: Tensor, seen: Tensor) -> Tensor:
        return super().hidden(torch.arange(len(places)), seen)


class Deaf(Capable):
    """Offers a cache that its forward pass does not take."""

    def forward(self, x: Tensor, *, position: Any = None) -> Tensor:  # type: ignore[override]
        return super().forward(x, position=position)


class Summarizing(Capable):
    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        y = super().forward(x, position=position, cache=cache)
        return y if cache is None else y.flatten(1)


class MiscountedBytes(Held):
    @property
    def nbytes(self) -> int:
        return sum(part.numel() for part in self.kv)


class Sliced(Held):
    """Holds slices of larger tensors, and counts the slices."""

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        found = super().extend(k, v)
        self.kv = [torch.cat((part, part), 2)[:, :, : part.shape[2]] for part in self.kv]
        return found


class MiscountedTokens(Held):
    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        found = super().extend(k, v)
        self.length = 1
        return found


class Used(Held):
    def __init__(self) -> None:
        super().__init__()
        self.length = 1


class HoldingBytes(Capable):
    def new_cache(self) -> Any:
        return MiscountedBytes()


class HoldingSlices(Capable):
    def new_cache(self) -> Any:
        return Sliced()


class HoldingTokens(Capable):
    def new_cache(self) -> Any:
        return MiscountedTokens()


class HoldingUsed(Capable):
    def new_cache(self) -> Any:
        return Used()


class HoldingList(Capable):
    def new_cache(self) -> Any:
        return []


class Sharing(Capable):
    """Keeps the past in the module, and starts it anew with each cache."""

    def new_cache(self) -> Any:
        self.past = Held()
        return Handle(self)


class Handle:
    """What its attention holds."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    @property
    def length(self) -> Any:
        return self.owner.past.length

    @property
    def nbytes(self) -> Any:
        return self.owner.past.nbytes

    def extend(self, k: Tensor, v: Tensor) -> Any:
        return self.owner.past.extend(k, v)


class One(Capable):
    """Has one cache for all."""

    def new_cache(self) -> Any:
        self.held = getattr(self, "held", None) or Held()
        return self.held


class Stateful(Capable):
    """Decoding leaves something in the module."""

    seen = 0

    def forward(self, x: Tensor, *, position: Any = None, cache: Any = None) -> Tensor:
        y = super().forward(x, position=position, cache=cache)
        if cache is not None and cache.length == 9:
            self.seen = 1
        return y if cache is not None else y + self.seen


class Unable(Capable):
    def new_cache(self) -> Any:
        raise Incompatible("a cache needs a causal mask")


class Broken(Capable):
    def new_cache(self) -> Any:
        raise RuntimeError("no memory")


COUNT = "count whole storages, and clone a slice to hold less"
OTHER = "gives other outputs than the full pass: compare the positions, the mask and what is kept"
ONE = 5 * 6 * 4 * 8  # one token's keys: 5 samples, 6 heads, 4 features, float64


def cache(cls: Any, message: str) -> Fault:
    return Fault(kind="attention", check="cache", cls=cls, message=message)


FAULTS = [
    cache(
        OffByOne,
        f"decoding with a cache, in chunks of 4, 1, 1 and 3, {OTHER}",
    ),
    cache(Forgetful, f"decoding with a cache, token by token, {OTHER}"),
    cache(TopLeft, f"decoding with a cache, token by token, {OTHER}"),
    cache(
        Deaf,
        "decoding with a cache, token by token, raised TypeError: Deaf.forward() got an unexpected "
        "keyword argument 'cache'",
    ),
    cache(
        Summarizing,
        "decoding with a cache, token by token: expected (B, T, D), got (B, D)",
    ),
    cache(
        HoldingBytes,
        f"after 1 tokens, token by token, nbytes is {2 * ONE // 8} but the cache holds {2 * ONE}: "
        f"{COUNT}",
    ),
    cache(
        HoldingSlices,
        f"after 1 tokens, token by token, nbytes is {2 * ONE} but the cache holds {4 * ONE}: "
        f"{COUNT}",
    ),
    cache(
        HoldingTokens,
        "after 2 tokens, token by token, the cache's length is 1: count every token that it has "
        "seen",
    ),
    cache(HoldingUsed, "a new cache has seen 0 tokens, but its length is 1"),
    cache(HoldingList, "new_cache must return a cache with the properties length and nbytes"),
    cache(
        Sharing,
        "two sequences decoded in turns disturb each other: keep the past in the cache alone",
    ),
    cache(One, "a new cache has seen 0 tokens, but its length is 9"),
    cache(
        Stateful,
        "decoding changed what a pass without a cache gives: keep the past in the cache alone",
    ),
    cache(
        Broken,
        'new_cache raised RuntimeError: no memory (at `raise RuntimeError("no memory")`)',
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_told(fault: Fault) -> None:
    assert found(fault) == ("failed", fault.message)


def test_a_true_cache_passes_and_a_missing_one_does_not_matter() -> None:
    assert outcome("attention", Capable, "cache") == "passed"
    cls = "registry.conformance.standins:Attention"
    assert outcome("attention", cls, "cache") == "not applicable"
    result = Suite("attention", Unable).result("cache")
    message = "it offers no cache with these options: a cache needs a causal mask"
    assert (result.outcome, result.message) == ("not applicable", message)
