"""Gradient flow at initialization: how the loss's gradient reaches each depth.

Shapes: B batch, T tokens, D d_model, V vocabulary, L blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from ablations.architecture import Architecture
from ablations.decoder import Decoder
from ablations.observation import Observation, PassOptions, pass_flops
from ablations.results import ProfileValues
from ablations.trial import Measurement, TrialContext


class GradientFlow:
    """Gradient norms and the sensitivity of the residual stream along depth.

    The sensitivity of the stream entering block l is

        s_l = rms(x_l) · ‖∂L/∂x_l‖        rms over all elements, ‖·‖ over (B, T, D)

    which, unlike ‖∂L/∂x_l‖, does not change when a component rescales the stream: the raw gradient
    shrinks as the stream grows, whatever reaches the weights. `sensitivity_ratio` is s_0 / s_(L−1);
    `sensitivity_decay` the factor that one block contributes on the way back, exp(−b) for the
    least-squares line log s_l = a + b·l: 1 keeps, below 1 shrinks, above 1 grows. Neither exists
    where a sensitivity is zero. Sums of squares are taken in float64.

    `embedding` is the norm of the gradient that reaches the token embedding through the stack: at
    the embedding's output, summed over the tokens of each row; a tied head adds nothing to it.
    """

    def __init__(
        self,
        *,
        batch: Annotated[int, Gt(0)] = 2,
        length: Annotated[int, Gt(0)] | None = None,
    ) -> None:
        self.options = PassOptions(batch=batch, length=length)

    def convention(self) -> str:
        """What the figures rest on, in words."""
        length = self.options.length or "context"
        return (
            f"mean cross-entropy of uniformly random targets on {self.options.batch} × {length} "
            "random tokens, evaluation mode, at initialization"
        )

    def unsupported(self, architecture: Architecture) -> str | None:
        """Why a cell cannot be measured so, told before anything runs."""
        length, context = self.options.length, architecture.context
        if length is not None and length > context:
            return f"length {length} is over the context {context}"
        return None

    def flops(self, decoder: Decoder) -> float:
        """What one trial computes, for a plan."""
        return pass_flops(decoder, self.options)

    def measure(self, context: TrialContext) -> Measurement:
        """Return the figures of one shared pass."""
        seen = context.observe(self.options)
        sizes = [_rms(stream) for stream in seen.streams]
        raw = [_norm(gradient) for gradient in seen.stream_gradients]
        sensitivity = [size * gradient for size, gradient in zip(sizes, raw, strict=True)]
        blocks = _block_norms(context, seen)
        metrics = {
            "loss": float(seen.loss),
            "embedding": _embedding_norm(context, seen),
            "embedded_rms": sizes[0],
        }
        if len(sensitivity) > 1:
            related = {
                "sensitivity_ratio": _ratio(sensitivity),
                "sensitivity_decay": _decay(sensitivity),
                "raw_ratio": _ratio(raw),
            }
            metrics |= {name: value for name, value in related.items() if value is not None}
        profiles = {
            "sensitivity": sensitivity,
            "stream_gradient": raw,
            "stream_rms": sizes,
            "block_gradient_norm": [norm for norm, _ in blocks],
            "block_gradient_rms": [norm / math.sqrt(max(count, 1)) for norm, count in blocks],
        }
        return Measurement(
            metrics=metrics,
            profiles={
                name: ProfileValues.along("depth", values) for name, values in profiles.items()
            },
        )


def _rms(tensor: Tensor) -> float:
    return float(tensor.double().square().mean().sqrt())


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64))


def _embedding_norm(context: TrialContext, seen: Observation) -> float:
    """‖∂L/∂x_0‖ with the tokens of each vocabulary row summed, as the embedding collects them."""
    gradient = seen.embedded_gradient.flatten(0, 1).double()  # (B·T, D)
    rows = gradient.new_zeros(context.architecture.vocab_size, gradient.shape[1])  # (V, D)
    return _norm(rows.index_add_(0, seen.tokens.flatten(), gradient))


def _block_norms(context: TrialContext, seen: Observation) -> list[tuple[float, int]]:
    """For each depth the norm of its block's parameter gradients, and how many there are."""
    squares: dict[str, float] = {}
    counts: dict[str, int] = {}
    for name, gradient in seen.parameter_gradients.items():
        if name.startswith("blocks."):
            block = name.split(".")[1]
            squares[block] = squares.get(block, 0.0) + _norm(gradient) ** 2
            counts[block] = counts.get(block, 0) + gradient.numel()
    architecture = context.architecture
    blocks = [str(layer // architecture.share_layers) for layer in range(architecture.depth)]
    return [(math.sqrt(squares.get(block, 0.0)), counts.get(block, 0)) for block in blocks]


def _ratio(values: Sequence[float]) -> float | None:
    """First over last; None where nothing reached the last, NaN where a value is not finite."""
    if not all(map(math.isfinite, values)):
        return math.nan
    return values[0] / values[-1] if values[-1] else None


def _decay(values: Sequence[float]) -> float | None:
    """exp(−b) of the least-squares line log v_l = a + b·l; None where a value is zero."""
    if not all(map(math.isfinite, values)):
        return math.nan
    if not all(values):
        return None
    logs = [math.log(value) for value in values]
    center = (len(logs) - 1) / 2
    slope = sum((layer - center) * value for layer, value in enumerate(logs)) / sum(
        (layer - center) ** 2 for layer in range(len(logs))
    )
    return math.exp(-slope)
