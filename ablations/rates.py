"""How fast this machine computes, for a plan's estimate of time."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


def rates() -> tuple[float, float]:
    """Multiply-adds ×2 and normal draws a second on one thread, each the best of three."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        size = 512
        a = torch.ones(size, size)
        out = torch.empty_like(a)
        product = min(_timed(lambda: torch.mm(a, a, out=out)) for _ in range(3))
        generator = torch.Generator().manual_seed(0)
        draw = min(_timed(lambda: a.normal_(generator=generator)) for _ in range(3))
    finally:
        torch.set_num_threads(threads)
    return 2 * size**3 / product, size**2 / draw


def _timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
