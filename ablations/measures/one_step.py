"""How far one optimizer step moves a model: what gradient norms alone cannot tell of Adam.

Shapes: B batch, T tokens, D d_model, V vocabulary, L blocks.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from ablations.data import TEXT
from ablations.decoder import Decoder
from ablations.losses import cross_entropy
from ablations.measures.of_training import Beta, OfTraining
from ablations.results import ProfileValues
from ablations.sizes import Sized, norm, rms
from ablations.training.loop import Regime
from ablations.training.material import Source
from ablations.training.optimizing import Optimizer
from ablations.trial import Measurement, TrialContext
from ablations.watching import Watcher


class OneStep(OfTraining):
    """The change of logits, loss and stream on a batch by one step on that same batch.

    Adam divides a gradient by its size, so that small gradients may move a model as far as large
    ones: what matters is how far. `logit_change` is the root mean square, over tokens and
    vocabulary, of the change of the logits less each token's mean, which no softmax sees, in nats;
    `loss_change` the loss after the step less before it; `update` is ‖Δθ‖ / ‖θ‖. The profile
    `stream_change` is rms(Δx_l) / rms(x_l) of the stream entering block l, at L of what leaves the
    last one (the coordinate check of arXiv:2203.03466).

    The step is the first one of `training` with equal options, dropout left out: both passes that
    are compared are in evaluation mode.
    """

    def __init__(
        self,
        *,
        data: str = TEXT,
        tokenizer: str | None = None,
        task: dict[str, int] | None = None,
        batch: Annotated[int, Gt(0)] = 8,
        length: Annotated[int, Gt(0)] | None = None,
        learning_rate: Annotated[float, Gt(0)] = 1e-3,
        optimizer: Optimizer = "adamw",
        betas: tuple[Beta, Beta] = (0.9, 0.95),
        momentum: Beta = 0.9,
        weight_decay: Annotated[float, Ge(0)] = 0.1,
        clip_norm: Annotated[float, Gt(0)] | None = 1.0,
    ) -> None:
        self.source = Source(data=data, tokenizer=tokenizer, task=task)
        self.length = length
        self.regime = Regime(
            learning_rate=learning_rate,
            steps=1,
            batch=batch,
            optimizer=optimizer,
            betas=betas,
            momentum=momentum,
            weight_decay=weight_decay,
            clip_norm=clip_norm,
        )

    def convention(self) -> str:
        """What the figures rest on, in words."""
        regime = self.regime
        return (
            f"one {regime.optimizer} step on {regime.batch} × {self.length or 'context'} tokens "
            f"of {self.source.in_words}"
        )

    def flops(self, decoder: Sized) -> float:
        """What one trial computes: a step, and two forward passes."""
        return self.step_flops(decoder) * 5 / 3

    def measure(self, context: TrialContext) -> Measurement:
        """Take the step, and return what it changed."""
        loop = self.loop(context, self.material(context.architecture))
        tokens, targets = loop.first(self.regime.batch)
        logits, streams = _seen(loop.decoder, tokens)
        loop.decoder.train()
        loop.step(0)
        moved, moved_streams = _seen(loop.decoder, tokens)
        change = (moved - logits).double()  # (B, T, V)
        changes = [
            norm(after.double() - before.double()) / size if (size := norm(before)) else math.nan
            for before, after in zip(streams, moved_streams, strict=True)
        ]
        return Measurement(
            metrics={
                "logit_change": rms(change - change.mean(dim=-1, keepdim=True)),
                "loss_change": float(
                    cross_entropy(moved, targets) - cross_entropy(logits, targets)
                ),
                "update": loop.history.row("update")[0],
            },
            profiles={"stream_change": ProfileValues.along("depth", changes)},
        )


@torch.no_grad()
def _seen(decoder: Decoder, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Logits (B, T, V) of tokens (B, T), and the stream (B, T, D) at each depth, L + 1 of them."""
    decoder.eval()
    with Watcher(decoder) as seen:
        logits = decoder(tokens)
    assert seen.left is not None, "a decoder has a block"
    return logits, [*seen.streams, seen.left]
