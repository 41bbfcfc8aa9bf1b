"""Decoders of earlier trials, kept for the same cell under another seed.

Once weights are shared, building its modules anew is a sixth of a small trial.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from ablations.architecture import Architecture
from ablations.decoder import Decoder
from ablations.executors.caches import on_short_memory
from ablations.initialization import Slice
from ablations.strangers import is_ours

MOST = 128
"""Decoders that a process keeps; one of depth 12 takes some 0.8 MiB without its weights."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A decoder and its `slices`."""

    decoder: Decoder
    pieces: Sequence[Slice]

    @property
    def ours(self) -> bool:
        """Whether all of it is this project's: then nothing in it depends on the seed but what
        `initialize` sets, and a pass leaves nothing behind."""
        initializer = self.decoder.architecture.initializer
        return is_ours(initializer.target) and all(part.ours for part in self.decoder.parts)


class KeptDecoders:
    """At most so many decoders, of a cell each, without the weights that are drawn.

    Cells come round in the same order for each seed, so that the one that was asked for longest ago
    is the next to be wanted: where all do not fit, those that came first stay.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[str, Built] = OrderedDict()

    def take(self, cell: str, architecture: Architecture) -> Built | None:
        """The decoder of that cell, which is the taker's alone from then on."""
        built = self._kept.pop(cell, None)
        return built if built and built.decoder.architecture == architecture else None

    def put(self, cell: str, built: Built) -> None:
        """Keep one that nobody uses any more, unless it holds a stranger's parts."""
        if not built.ours or (cell not in self._kept and len(self._kept) >= self.most):
            return
        for piece in built.pieces:
            if piece.drawn_by_ours:
                shape = piece.parameter.shape
                piece.parameter.data = torch.empty(()).expand(shape)  # a shape without memory
        self._kept[cell] = built


@lru_cache(maxsize=1)
def decoders_of_process() -> KeptDecoders:
    """What this process keeps."""
    return KeptDecoders(MOST)


on_short_memory(decoders_of_process.cache_clear)
