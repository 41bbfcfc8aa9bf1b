"""Random streams: each thing that is drawn has a name, and a stream of its own for each seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def stream_seed(seed: int, name: str) -> int:
    """The seed of the random stream of that name: 32 bits of SHA-256 over both.

    Torch's CPU generator uses no more. Two of a model's hundred matrices share a stream once in a
    million models, which then have two equal matrices: no figure here could show it.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:4], "big")


def generator_of(seed: int, name: str) -> torch.Generator:
    """A generator at the start of the stream of that name, on the CPU."""
    return torch.Generator().manual_seed(stream_seed(seed, name))


@contextmanager
def global_stream(seed: int, name: str) -> Iterator[None]:
    """Torch's global generator draws from that stream inside, and goes on as before outside."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, name))
        yield


def seed_process(seed: int, name: str) -> None:
    """Put every global generator of the process at the start of that stream."""
    start = stream_seed(seed, name)
    random.seed(start)
    np.random.seed(start)
    torch.default_generator.manual_seed(start)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(start)


@contextmanager
def seeded_process(seed: int, name: str) -> Iterator[None]:
    """Every global generator of the process draws from that stream inside, and is restored after.

    Nothing of ours draws from them; a component that does has the same figures on every worker.
    Those of GPUs are not restored: whoever draws there is within such a stream.
    """
    states = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            seed_process(seed, name)
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
