"""Placements that are wired in ways of their own, some that end or never end, and parts for them.

None does anything where a grid is planned.
"""

import os
import time

import torch

from components.placements import Placement, Post, Pre
from registry import ComponentSpec, Dims, hookimpl


class MixLN(Placement):
    """Post in the first layers, pre in the rest (arXiv:2412.13795)."""

    def __init__(
        self, dims: Dims, attention, feed_forward, residual, norm, *, share: float = 0.25
    ) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)
        self.form = Post if dims.layer < share * dims.depth else Pre

    def forward(self, x, **mixing):
        return self.form.forward(self, x, **mixing)


class Bare(torch.nn.Module):
    """Adds by itself, without a residual."""

    final_norm = True

    def __init__(self, dims: Dims, attention, feed_forward, norm) -> None:
        super().__init__()
        self.mixer, self.ffn = attention(), feed_forward()
        self.norms = torch.nn.ModuleList([norm(), norm()])

    def forward(self, x, **mixing):
        x = x + self.mixer(self.norms[0](x), **mixing)
        return x + self.ffn(self.norms[1](x))


class Again(Pre):
    """Calls its attention twice, and feeds on what both gave."""

    def __init__(self, dims: Dims, attention, feed_forward, residual, norm) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)

    def forward(self, x, **mixing):
        y = self.attention(self.attention_norm(x), **mixing)
        z = self.attention(self.attention_norm(y), **mixing)
        x = self.attention_residual(x, y + z)
        return self.feed_forward_residual(x, self.feed_forward(self.feed_forward_norm(y + z)))


class Raising(Pre):
    def __init__(self, dims: Dims, attention, feed_forward, residual, norm) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)

    def forward(self, x, **mixing):
        raise RuntimeError("not\ntoday")


class Ending(Raising):
    def forward(self, x, **mixing):
        os._exit(3)


class Hanging(Raising):
    def forward(self, x, **mixing):
        time.sleep(600)


class Hoarding(Raising):
    def forward(self, x, **mixing):
        held = []
        while True:
            held.append(torch.ones(2**22))


class Experts(torch.nn.Module):
    """A feed-forward that looks at its tokens to choose who takes them."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.router = torch.nn.Linear(dims.d_model, 2)
        self.experts = torch.nn.ModuleList(
            torch.nn.Linear(dims.d_model, dims.d_model) for _ in range(2)
        )

    def forward(self, x):
        chosen, y = self.router(x).argmax(-1), torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero(as_tuple=True)
            y[rows] = expert(x[rows])
        return y


class Scale(torch.nn.Module):
    """A norm without statistics."""

    def __init__(self, dims: Dims) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dims.d_model))

    def forward(self, x):
        return x * self.weight


@hookimpl
def register_components():
    placements = {
        "mix_ln": MixLN,
        "bare": Bare,
        "again": Again,
        "raising": Raising,
        "ending": Ending,
        "hanging": Hanging,
        "hoarding": Hoarding,
    }
    return [
        *(ComponentSpec(kind="placement", name=n, target=of) for n, of in placements.items()),
        ComponentSpec(kind="feed_forward", name="experts", target=Experts),
        ComponentSpec(kind="norm", name="scale", target=Scale),
    ]
