"""Initial values that a worker has drawn, shared by the cells that draw the same.

A parameter's values depend on the seed, its stream, the initializer and what that is told of the
parameter: cells that agree in these have them in common, and half of what a trial at
initialization costs is to draw them.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache

from torch import Tensor

from ablations.executors.caches import on_short_memory
from registry.errors import InvalidOptions

VARIABLE = "ABLATIONS_WEIGHT_BANK"
DEFAULT_MIB = 512


class WeightBank:
    """Tensors by key, at most `bound` bytes of them; the one not asked for longest goes first.

    They are lent, not copied: who changes one must have its own.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.nbytes = 0
        self._held: OrderedDict[Hashable, Tensor] = OrderedDict()

    def get(self, key: Hashable) -> Tensor | None:
        """What is held under that key."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def keep(self, key: Hashable, tensor: Tensor) -> None:
        """Hold a tensor, giving up others for it; one over the bound is not held."""
        if tensor.nbytes > self.bound:
            return
        self._held[key] = tensor
        self.nbytes += tensor.nbytes
        while self.nbytes > self.bound:
            _, given_up = self._held.popitem(last=False)
            self.nbytes -= given_up.nbytes


def bank_of_process() -> WeightBank:
    """The bank of this process; `ABLATIONS_WEIGHT_BANK` bounds it in MiB, 0 turns it off.

    Raises: InvalidOptions for what is no number of MiB.
    """
    return _bank_of(bound_in_mib() << 20)


@lru_cache(maxsize=1)
def _bank_of(bound: int) -> WeightBank:
    return WeightBank(bound)


on_short_memory(_bank_of.cache_clear)


def bound_in_mib() -> int:
    """What `ABLATIONS_WEIGHT_BANK` says. Raises: InvalidOptions for what is no number of MiB."""
    given = os.environ.get(VARIABLE)
    if not given:
        return DEFAULT_MIB
    if not given.isdecimal():
        raise InvalidOptions([(None, f"{VARIABLE} must be a whole number of MiB, not {given!r}")])
    return int(given)
