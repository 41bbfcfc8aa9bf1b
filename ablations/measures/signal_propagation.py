"""Signal propagation at initialization: what the blocks do to the stream on the way forward.

Shapes: B batch, T tokens, D d_model, L blocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from ablations.data import RANDOM
from ablations.measures.of_a_pass import OfAPass
from ablations.observation import PassOptions
from ablations.results import ProfileValues
from ablations.sizes import norm, rms
from ablations.trial import Measurement, TrialContext
from ablations.watching import Branch


class SignalPropagation(OfAPass):
    """Sizes of the residual stream and of the branches' updates, and how alike its tokens become.

    Profiles at l = 0 … L − 1 are of the stream entering block l, at L of what leaves the last one.
    A branch's update is what its residual adds, relative to the stream it is added to:
    rms(after − before) / rms(before).

    Token similarity is the mean cosine between two different tokens of a sequence; a stack in
    which it nears 1 has collapsed to rank one (arXiv:2103.03404, arXiv:2206.03126).

    The figures rest on the forward pass; options are those of `gradient_flow`, and equal options
    share its pass.
    """

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 2,
        length: Annotated[int, Gt(0)] | None = None,
        data: str = RANDOM,
    ) -> None:
        self.options = PassOptions(batch=batch, length=length, data=data)

    def measure(self, context: TrialContext) -> Measurement:
        """Return the figures of one shared pass."""
        seen = context.observe(self.options)
        points = [*seen.streams, seen.last_stream]
        sizes = [rms(stream) for stream in points]
        similarity = [token_similarity(stream) for stream in points]
        metrics = {"stream_growth": sizes[-1] / sizes[0] if sizes[0] else math.nan}
        profiles = {"stream_rms": ProfileValues.along("depth", sizes)}
        if seen.tokens.shape[1] > 1:
            metrics["token_similarity"] = similarity[-1]
            profiles["token_similarity"] = ProfileValues.along("depth", similarity)
        for sublayer in ("attention", "feed_forward"):
            found = updates([b for b in seen.branches if b.sublayer == sublayer])
            if found:
                name = f"{sublayer}_update"
                metrics[name] = sum(found.values()) / len(found)
                profiles[name] = ProfileValues.at("depth", found)
        return Measurement(metrics=metrics, profiles=profiles)


def token_similarity(x: Tensor) -> float:
    """Mean cosine between two different tokens of a sequence, x (B, T, D); NaN for one token.

    A token of zeros has a cosine of 0 with every other.
    """
    length = x.shape[1]
    if length < 2:
        return math.nan
    unit = torch.nn.functional.normalize(x.double(), dim=-1, eps=1e-300)  # (B, T, D)
    together = unit.sum(dim=1).square().sum(dim=-1)  # (B,): all pairs, each token's own among them
    own = unit.square().sum(dim=(1, 2))  # (B,)
    return float(((together - own) / (length * (length - 1))).mean())


def updates(branches: list[Branch]) -> dict[int, float]:
    """rms(after − before) / rms(before) by layer; the root mean square where a block has several.

    NaN where the stream was zero.
    """
    squares: dict[int, list[float]] = defaultdict(list)
    for branch in branches:
        before = norm(branch.before)
        update = norm(branch.after.double() - branch.before.double())
        squares[branch.layer].append((update / before) ** 2 if before else math.nan)
    return {layer: math.sqrt(sum(of) / len(of)) for layer, of in sorted(squares.items())}
