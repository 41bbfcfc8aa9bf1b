"""What is looked at beside the steps: held-out sequences, the largest score, gradient flow.

Shapes: B batch, T tokens, V vocabulary, L blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ablations.breaches import contracts_watched
from ablations.decoder import Decoder
from ablations.losses import UNSCORED, cross_entropy
from ablations.measures.gradient_flow import sensitivities
from ablations.measures.signal_propagation import token_similarity, updates
from ablations.measures.trends import largest, ratio
from ablations.observation import observe_on
from ablations.sizes import rms
from ablations.training.material import Sequences
from ablations.watching import Watcher

LOOKED_INTO = 2
"""Held-out sequences whose scores and gradients are looked at."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Held-out sequences in evaluation mode.

    `loss` in nats and `accuracy` are means over scored targets; `largest_logit` is the largest
    scaled score of any attention, None where none tells its scores.
    """

    loss: float
    accuracy: float
    largest_logit: float | None


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Gradient flow and signal propagation at a step: by name and block."""

    along_depth: Mapping[str, Mapping[int, float]]
    sensitivity_ratio: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Probe:
        """From its fields as JSON gives them back: numbers of blocks are text by then."""
        rows = {
            name: {int(layer): value for layer, value in row.items()}
            for name, row in plain["along_depth"].items()
        }
        return cls(along_depth=rows, sensitivity_ratio=plain["sensitivity_ratio"])


@torch.no_grad()
def evaluate(decoder: Decoder, held_out: Sequences, *, batch: int, batches: int) -> Evaluation:
    """Look at the first `batches` times `batch` held-out sequences."""
    decoder.eval()
    loss, right, scored = 0.0, 0, 0
    for place in range(batches):
        tokens, targets = held_out.take(place * batch, batch)
        logits = decoder(tokens)  # (B, T, V)
        loss += float(cross_entropy(logits, targets, "sum"))
        right += int((logits.argmax(dim=-1) == targets).sum())
        scored += int((targets != UNSCORED).sum())
    return Evaluation(
        loss=loss / scored,
        accuracy=right / scored,
        largest_logit=_largest_logit(decoder, held_out.take(0, LOOKED_INTO)[0]),
    )


def _largest_logit(decoder: Decoder, tokens: Tensor) -> float | None:
    with Watcher(decoder) as seen:
        decoder.hidden(tokens)
    scores = [
        float(mixing.module.scores(mixing.x, **mixing.rest).max())  # type: ignore[operator]
        for mixing in seen.mixings
        if hasattr(mixing.module, "scores")
    ]
    return largest(scores) if scores else None


def probe(
    decoder: Decoder, held_out: Sequences, generator: Callable[[str], torch.Generator]
) -> Probe:
    """The figures of `gradient_flow` and `signal_propagation` on held-out sequences."""
    with torch.enable_grad():
        seen = observe_on(decoder, *held_out.take(0, LOOKED_INTO), generator)
    points = [*seen.streams, seen.last_stream]
    sensitivity = sensitivities(seen)
    rows: dict[str, dict[int, float]] = {
        "sensitivity": dict(enumerate(sensitivity)),
        "stream_rms": dict(enumerate(map(rms, points))),
        "token_similarity": dict(enumerate(map(token_similarity, points))),
    }
    for sublayer in ("attention", "feed_forward"):
        of = updates([branch for branch in seen.branches if branch.sublayer == sublayer])
        if of:
            rows[f"{sublayer}_update"] = of
    return Probe(along_depth=rows, sensitivity_ratio=ratio(sensitivity))


AHEAD = 1e-3
"""Of the largest logit: more than rounding leaves, in bfloat16 too."""


@torch.no_grad()
def reads_ahead(decoder: Decoder, tokens: Tensor) -> bool:
    """Whether what a decoder says of the first half of tokens (B, T) depends on the second.

    Raises: ContractBroken.
    """
    half = tokens.shape[1] // 2
    if half == 0:
        return False
    decoder.eval()
    other = tokens.clone()
    other[:, half:] = (other[:, half:] + 1) % decoder.architecture.vocab_size
    with contracts_watched(decoder):
        one = decoder(tokens)[:, :half].double()
    two = decoder(other)[:, :half].double()
    apart = float((one - two).abs().max())
    return apart > AHEAD * float(one.abs().max())
