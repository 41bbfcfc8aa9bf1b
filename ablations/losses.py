"""What a probe differentiates, and whether the last norm lets its gradient through.

Shapes: B batch, T tokens, D d_model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from ablations.sizes import norm

Loss = Literal["cross_entropy", "random_projection", "sum", "mean_square"]

IN_WORDS: dict[Loss, str] = {
    "cross_entropy": "mean cross-entropy of the logits",
    "random_projection": "Σ R·y of the stack's output y, R ~ N(0, 1) for each element",
    "sum": "sum of the stack's output",
    "mean_square": "mean square of the stack's output",
}

UNSCORED = -100
"""The target of a position that no loss counts."""

CANCELLED = 0.1
"""A probe of which the last norm keeps less than this share of what it keeps of noise is marked."""

FEWEST = 4
"""Of a Gaussian on so many elements less than a tenth of its size is seen once in 5,000 times."""

CANCELLED_ANYWAY = 1e-3
"""Less than this share is taken for cancelled on any number of elements."""

STRUCTURED: tuple[Loss, ...] = ("sum", "mean_square")
"""Losses whose gradient at the stack's output has a direction that a norm may cancel."""


def probe_loss(
    name: Loss,
    output: Tensor,
    head: Callable[[Tensor], Tensor],
    targets: Tensor,
    generator: Callable[[str], torch.Generator],
) -> Tensor:
    """The scalar loss of the stack's output (B, T, D), after its final norm if there is one.

    `cross_entropy` alone goes on to logits (B, T, V), which `head` makes. Computed in float32, or
    in float64 for float64 input.
    """
    if name == "cross_entropy":
        return cross_entropy(head(output), targets)
    y = output.to(torch.promote_types(output.dtype, torch.float32))
    if name == "random_projection":
        return (torch.randn(y.shape, generator=generator("projection")).to(y) * y).sum()
    return y.sum() if name == "sum" else y.square().mean()


def cross_entropy(
    logits: Tensor, targets: Tensor, reduction: Literal["mean", "sum"] = "mean"
) -> Tensor:
    """Of logits (B, T, V) over the scored targets (B, T), in nats, in float32 or wider."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    return F.cross_entropy(
        logits.flatten(0, 1).to(wide),
        targets.flatten(),
        ignore_index=UNSCORED,
        reduction=reduction,
    )


def surviving_fraction(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    gradient: Tensor,
    generator: Callable[[str], torch.Generator],
) -> float | None:
    """How much of a gradient a function lets through, over how much it lets through of noise.

    For y = function(x), both (B, T, D), and the loss's gradient at y,

        rms(x)·‖∂L/∂x‖ / (rms(y)·‖∂L/∂y‖)

    divided by the same of a Gaussian in place of ∂L/∂y, so that a norm which shrinks every
    gradient, as a saturated one does, cancels none. Behind a LayerNorm the sum and the mean square
    are constant but for rounding and eps: their gradient has next to no part that gets through.
    None as for `share_of_noise`.
    """
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = function(x)
        noise = noise_like(gradient, generator)
        through, of_noise = (
            torch.autograd.grad(y, x, c.to(y.dtype), retain_graph=True, materialize_grads=True)[0]
            for c in (gradient, noise)
        )
    return share_of_noise(gradient, through, noise, of_noise)


def noise_like(gradient: Tensor, generator: Callable[[str], torch.Generator]) -> Tensor:
    """A Gaussian in place of a gradient, from a stream of its own."""
    return torch.randn(gradient.shape, generator=generator("surviving")).to(gradient)


def share_of_noise(
    gradient: Tensor, through: Tensor, noise: Tensor, of_noise: Tensor
) -> float | None:
    """What is left `through` of a gradient, over what is left `of_noise` of noise.

    None where nothing arrives, where not even noise gets through, and where noise gets through at
    fewer than `FEWEST` elements, which a gradient may miss by chance; but not where less is left
    than chance would leave.
    """
    arriving, left = norm(gradient), norm(of_noise)
    if arriving == 0 or left == 0:
        return None
    # The sizes of the values at both ends are the same for both.
    share = (norm(through) / arriving) / (left / norm(noise))
    return None if _elements(of_noise) < FEWEST and share >= CANCELLED_ANYWAY else share


def _elements(tensor: Tensor) -> float:
    """The number of elements that make up a tensor: (Σ z²)² / Σ z⁴."""
    squares = (tensor.double() / tensor.abs().max()).square()
    return float(squares.sum().square() / squares.square().sum())
