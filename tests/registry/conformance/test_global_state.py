from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from registry.conformance.errors import CheckFailed
from registry.conformance.global_state import isolated, moved_since, random_states, untouched


@pytest.mark.parametrize(
    ("owner", "draw"),
    [
        ("torch", lambda: torch.rand(())),
        ("numpy", lambda: np.random.rand()),
        ("python", random.random),
    ],
)
def test_each_generator_is_watched(owner: str, draw: Callable[[], Any]) -> None:
    with isolated():
        before = random_states()
        assert moved_since(before) == []
        draw()
        assert moved_since(before) == [owner]
        with pytest.raises(CheckFailed) as caught, untouched("this"):
            draw()
    assert str(caught.value) == (
        f"this drew from the global random state of {owner}: draw from a generator of its own, or "
        "in training mode alone"
    )


def test_what_is_outside_is_left_as_it_was() -> None:
    before = random_states()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode(), isolated():
            assert torch.get_default_dtype() == torch.float32
            assert torch.is_grad_enabled()
            assert not torch.is_inference_mode_enabled()
            drawn = [float(torch.rand(())), random.random(), np.random.rand()]
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert moved_since(before) == []
    with isolated():
        assert drawn == [float(torch.rand(())), random.random(), np.random.rand()]
    with isolated(seed=1):
        assert drawn[0] != float(torch.rand(()))
