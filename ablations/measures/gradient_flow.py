"""Gradient flow at initialization: how the loss's gradient reaches each depth.

Shapes: B batch, T tokens, D d_model, E width of the embeddings, V vocabulary, L blocks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated

import torch
from annotated_types import Gt

from ablations.data import RANDOM
from ablations.losses import Loss
from ablations.measures.of_a_pass import OfAPass
from ablations.measures.trends import (
    EXPLODING,
    VANISHING,
    decay,
    furthest,
    geometric_mean,
    ratio,
    span,
)
from ablations.observation import Observation, PassOptions
from ablations.results import ProfileValues
from ablations.sizes import norm, rms
from ablations.trial import Measurement, TrialContext

ROLES = (
    "q",
    "k",
    "v",
    "attention_output",
    "gate",
    "up",
    "down",
    "norm",
    "bias",
    "key_bias",
)
"""Roles of parameters that have profiles of their own; what a block holds beside is `other`."""

CANCELLED_PROBE = "cancelled_probe"


class GradientFlow(OfAPass):
    """Gradient norms and the sensitivity of the residual stream along depth.

    The sensitivity of the stream entering block l is

        s_l = rms(x_l) · ‖∂L/∂x_l‖        rms over all elements, ‖·‖ over (B, T, D)

    which, unlike ‖∂L/∂x_l‖, does not change when a component rescales the stream: the raw gradient
    shrinks as the stream grows, whatever reaches the weights. What is said of depth rests on it
    alone: `sensitivity_span` is max s_l / min s_l, 1 where the gradient is even all along;
    `sensitivity_ratio` is s_0 / s_(L−1), which does not see what happens between;
    `sensitivity_mean` the geometric mean of all s_l, which tells a stack whose stream hardly
    matters to the loss from one that is even; `sensitivity_decay` the factor that one block
    contributes on the way back, exp(−b) for the least-squares line log s_l = a + b·l, and
    `decay_fit` how much of log s that line explains (R²); `worst_layer` the block l whose s_l is
    the furthest from s_(L−1), and `worst_ratio` s_l / s_(L−1) there; `vanishing` and `exploding`
    are 1 where some block's ratio is below 1e-2, or above 1e2, and mark the trial.

    A probe whose gradient the last norm cancels is marked `cancelled_probe`
    (`ablations.losses.surviving_fraction`), and nothing is said of its ratios along depth.

    `embedding` is the norm of the gradient that reaches the token embedding through the stack: at
    the embedding's output, summed over the tokens of each row; a tied head adds nothing to it. It
    is told in units of the loss over units of the embeddings: `gradient_unit` is what it would be,
    but for tokens that meet in a row, if the sensitivity of the stack's output y reached the
    embedding whole, rms(y) · ‖∂L/∂y‖ · scale / rms(u), u the scaled embeddings with positions.
    Where embeddings are projected to the model's width, scale is what that makes of their size.

    Parameter gradients are told for each block and role. The key bias has a role of its own: its
    gradient is zero unless keys are rotated or normed, since softmax ignores what is added to all
    of a query's scores.
    """

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 2,
        length: Annotated[int, Gt(0)] | None = None,
        loss: Loss = "cross_entropy",
        data: str = RANDOM,
    ) -> None:
        self.options = PassOptions(batch=batch, length=length, loss=loss, data=data)

    def convention(self) -> str:
        """What the figures rest on, in words."""
        return self.options.in_words

    def measure(self, context: TrialContext) -> Measurement:
        """Return the figures of one shared pass."""
        seen = context.observe(self.options)
        sizes = [rms(stream) for stream in seen.streams]
        raw = [norm(gradient) for gradient in seen.stream_gradients]
        sensitivity = sensitivities(seen)
        metrics = {
            "loss": float(seen.loss),
            "embedding": _embedding_norm(context, seen),
            "embedded_rms": sizes[0],
        }
        summed = sizes[0] if seen.summed is None else rms(seen.summed)
        if summed:
            arriving = rms(seen.output) * norm(seen.output_gradient)
            metrics["gradient_unit"] = arriving * _embedding_gain(context, seen) / summed
        if seen.surviving_fraction is not None:
            metrics["surviving_fraction"] = seen.surviving_fraction
        marks = [CANCELLED_PROBE] if seen.cancelled else []
        if len(sensitivity) > 1 and not seen.cancelled:
            trends = _trends(sensitivity)
            metrics |= trends | {"raw_ratio": ratio(raw), "stream_ratio": ratio(sizes[::-1])}
            marks += [name for name in ("vanishing", "exploding") if trends[name] == 1]
        profiles = {
            "sensitivity": dict(enumerate(sensitivity)),
            "stream_gradient": dict(enumerate(raw)),
            "stream_rms": dict(enumerate(sizes)),
            **_parameter_profiles(context, seen),
        }
        return Measurement(
            metrics=metrics,
            profiles={name: ProfileValues.at("depth", values) for name, values in profiles.items()},
            marks=tuple(marks),
        )


def sensitivities(seen: Observation) -> list[float]:
    """s_l = rms(x_l) · ‖∂L/∂x_l‖ of the stream entering each block, (L,)."""
    return [
        rms(stream) * norm(gradient)
        for stream, gradient in zip(seen.streams, seen.stream_gradients, strict=True)
    ]


def _trends(sensitivity: list[float]) -> dict[str, float]:
    """What the sensitivities (L,) come to, at least two of them."""
    factor, fit = decay(sensitivity)
    layer, furthest_ratio = furthest(sensitivity)
    last = sensitivity[-1]
    known = all(map(math.isfinite, sensitivity)) and last > 0
    return {
        "sensitivity_span": span(sensitivity),
        "sensitivity_ratio": ratio(sensitivity),
        "sensitivity_mean": geometric_mean(sensitivity),
        "sensitivity_decay": factor,
        "decay_fit": fit,
        "worst_layer": float(layer),
        "worst_ratio": furthest_ratio,
        "vanishing": float(min(sensitivity) < VANISHING * last) if known else math.nan,
        "exploding": float(max(sensitivity) > EXPLODING * last) if known else math.nan,
    }


def _embedding_gain(context: TrialContext, seen: Observation) -> float:
    """What the scale, and a projection if there is one, make of the embeddings' size."""
    decoder = context.decoder()
    if decoder.embedding_projection is None:
        return context.architecture.embedding_scale
    with torch.no_grad():
        embedded = decoder.token_embedding(seen.tokens)  # (B, T, E)
        return rms(decoder.scaled(embedded)) / rms(embedded)


def _embedding_norm(context: TrialContext, seen: Observation) -> float:
    """‖∂L/∂x_0‖ with the tokens of each vocabulary row summed, as the embedding collects them."""
    gradient = seen.embedded_gradient.flatten(0, 1).double()  # (B·T, E)
    rows = gradient.new_zeros(context.architecture.vocab_size, gradient.shape[1])  # (V, E)
    return norm(rows.index_add_(0, seen.tokens.flatten(), gradient))


def _parameter_profiles(context: TrialContext, seen: Observation) -> Mapping[str, dict[int, float]]:
    """Norm and root mean square of the parameter gradients of each block, all and by role."""
    squares: dict[tuple[str, int], float] = defaultdict(float)  # by group and unique block
    counts: dict[tuple[str, int], int] = defaultdict(int)
    norms = {path: iter(of_ranges) for path, of_ranges in seen.gradient_norms.items()}
    for piece in context.slices():
        block = piece.block
        if block is None:
            continue
        square = next(norms[piece.info.path]) ** 2
        role = piece.info.role if piece.info.role in ROLES else "other"
        for group in ("block", role):
            squares[group, block] += square
            counts[group, block] += piece.numel
    profiles: dict[str, dict[int, float]] = {}
    architecture = context.architecture
    for group in ("block", *ROLES, "other"):
        places = {
            layer: (group, layer // architecture.share_layers)
            for layer in range(architecture.depth)
            if group == "block" or (group, layer // architecture.share_layers) in counts
        }
        if places:
            by_layer = {layer: math.sqrt(squares[place]) for layer, place in places.items()}
            profiles[f"{group}_gradient_norm"] = by_layer
            profiles[f"{group}_gradient_rms"] = {
                layer: value / math.sqrt(max(counts[places[layer]], 1))
                for layer, value in by_layer.items()
            }
    return profiles
