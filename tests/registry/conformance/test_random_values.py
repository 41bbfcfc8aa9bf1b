from __future__ import annotations

import torch
from torch import nn

from registry.conformance.random_values import normal, randomize


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(()))
        self.scale = nn.Parameter(torch.full((50,), 0.1))
        self.table = nn.Parameter(torch.ones(200, 16))
        self.counts = nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False)


def test_a_stream_has_a_name_and_a_seed() -> None:
    assert torch.equal(normal((3,), "a"), normal((3,), "a"))
    assert not torch.equal(normal((3,), "a"), normal((3,), "b"))
    assert not torch.equal(normal((3,), "a"), normal((3,), "a", seed=1))
    assert normal((2,), "a", dtype=torch.bfloat16).dtype == torch.bfloat16
    assert torch.equal(normal((3,), "a").float(), normal((3,), "a", dtype=torch.float32))


def test_every_parameter_moves_and_keeps_what_it_is() -> None:
    module = Parts()
    randomize(module)
    assert module.gate != 0
    assert bool((module.scale > 0).all())
    assert module.scale.unique().numel() > 10
    assert 0.2 < float(module.table.detach().std()) < 0.3  # 1 / sqrt(16)
    assert module.counts.tolist() == [1, 1, 1]
    other = Parts()
    randomize(other)
    assert torch.equal(module.table, other.table)
    randomize(other, seed=1)
    assert not torch.equal(module.table, other.table)
