"""How far one optimizer step moves a model: what gradient norms alone cannot tell of Adam.

Shapes: B batch, T tokens, D d_model, V vocabulary, L blocks.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from ablations.architecture import Architecture
from ablations.data import TEXT
from ablations.decoder import Decoder
from ablations.measures.training import Beta
from ablations.observation import PassOptions, pass_flops
from ablations.results import ProfileValues
from ablations.sizes import norm, rms
from ablations.training.loop import Loop, Regime, cross_entropy
from ablations.training.material import Source
from ablations.training.optimizing import Optimizer, unused_options
from ablations.trial import Measurement, TrialContext
from ablations.watching import Watcher


class OneStep:
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
        self._source = Source(data=data, tokenizer=tokenizer, task=task)
        self._length = length
        self._regime = Regime(
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
        regime = self._regime
        return (
            f"one {regime.optimizer} step on {regime.batch} × {self._length or 'context'} tokens "
            f"of {self._source.in_words}"
        )

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be measured so, told before anything runs."""
        return self._source.unsupported(architecture, self._length)

    def unused(self) -> dict[str, str]:
        """Options that change nothing beside the optimizer that is asked for."""
        return unused_options(self._regime.optimizer)

    def files(self) -> list[str]:
        """The text and the tokenizer that the figures depend on."""
        return self._source.files()

    def flops(self, decoder: Decoder) -> float:
        """What one trial computes: a step, and two forward passes."""
        return (
            pass_flops(decoder, PassOptions(batch=self._regime.batch, length=self._length)) * 5 / 3
        )

    def measure(self, context: TrialContext) -> Measurement:
        """Take the step, and return what it changed."""
        architecture = context.architecture
        length = self._length or architecture.context
        loop = Loop(
            context.fresh_decoder(torch.promote_types(context.dtype, torch.float32)),
            self._regime,
            self._source.material(length=length, vocab_size=architecture.vocab_size),
            seed=context.seed,
            generator=context.generator,
            checkpoint=context.checkpoint,
        )
        tokens, targets = loop.first(self._regime.batch)
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
