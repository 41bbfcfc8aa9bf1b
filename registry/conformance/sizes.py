"""The sizes that components are tried with: chosen so that a shape names its dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from registry.conformance.size_names import SizeNames
from registry.contracts import Dims

TOKENS = (1, 2, 7, 33, 130)
"""Lengths: one token, as in decoding; a few; more than a block of a blocked algorithm; the context.
"""

NAMED = 7
"""The length at which a shape is told by name."""

ORDER = ("B", "T", "D", "F", "H", "K", "C")
"""Where two sizes are equal, the first name is told."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """One set of sizes; a component may refuse it, but not every one."""

    label: str
    dims: Dims
    batch: int = 5

    def names(self, tokens: int, n_kv_heads: int | None = None) -> SizeNames:
        """Names for what is computed from that many tokens."""
        dims = self.dims
        atoms = {
            "B": self.batch,
            "T": tokens,
            "D": dims.d_model,
            "F": dims.d_ff,
            "H": dims.n_heads,
            "C": dims.head_dim,
        }
        if n_kv_heads is not None and n_kv_heads != dims.n_heads:
            atoms["K"] = n_kv_heads
        return SizeNames({name: atoms[name] for name in ORDER if name in atoms})


APART = Sizes(
    label="head_dim other than d_model / n_heads",
    dims=Dims(
        d_model=60,
        n_heads=6,
        n_kv_heads=6,
        head_dim=4,
        d_ff=88,
        context=TOKENS[-1],
        depth=5,
        layer=3,
    ),
)
TOGETHER = Sizes(
    label="head_dim of d_model / n_heads, no biases",
    dims=replace(
        APART.dims,
        d_model=24,
        layer=0,
        qkv_bias=False,
        out_bias=False,
        feed_forward_bias=False,
    ),
)
POWERS = Sizes(
    label="powers of two",
    dims=Dims(
        d_model=64,
        n_heads=4,
        n_kv_heads=4,
        head_dim=16,
        d_ff=128,
        context=TOKENS[-1],
        depth=2,
        layer=1,
    ),
)
ALL = (APART, TOGETHER, POWERS)
"""In the order of preference: most checks use the first that the component takes."""


def model_sizes(dims: Dims) -> Sizes:
    """Those of a model, with a context of all lengths that are tried."""
    return Sizes(label="the model's own", dims=replace(dims, context=max(dims.context, TOKENS[-1])))
