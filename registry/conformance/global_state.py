"""The process's own random generators and settings: watched, and left as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch

from registry.conformance.errors import CheckFailed


def random_states() -> dict[str, Any]:
    """The state of each global generator, by the name of who owns it, as things that compare."""
    name, keys, *rest = np.random.get_state(legacy=True)
    return {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": (name, np.asarray(keys).tobytes(), *rest),
        "python": random.getstate(),
    }


def moved_since(before: Mapping[str, Any]) -> list[str]:
    """The owners whose generator has been used since."""
    now = random_states()
    return [owner for owner, state in before.items() if now[owner] != state]


def seed_all(seed: int) -> None:
    """Start each global generator from that seed."""
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


@contextmanager
def isolated(seed: int = 0) -> Iterator[None]:
    """Seeded generators and torch's own settings inside, whatever the process has set outside."""
    kept = torch.get_rng_state(), np.random.get_state(), random.getstate()
    default = torch.get_default_dtype()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        torch.set_default_dtype(torch.float32)
        seed_all(seed)
        try:
            yield
        finally:
            torch.set_default_dtype(default)
            torch.set_rng_state(kept[0])
            np.random.set_state(kept[1])
            random.setstate(kept[2])


@contextmanager
def untouched(doing: str) -> Iterator[None]:
    """Refuse what draws from a global generator inside. Raises: CheckFailed."""
    before = random_states()
    yield
    moved = moved_since(before)
    if moved:
        raise CheckFailed(
            f"{doing} drew from the global random state of {', '.join(moved)}: draw from a "
            "generator of its own, or in training mode alone"
        )
