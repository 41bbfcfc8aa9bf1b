"""Optimizer and learning rate: all parameters as one vector, so that a step is a few calls.

Shapes: P parameters of the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from ablations.decoder import Decoder
from ablations.initialization import slices

Optimizer = Literal["adamw", "adam", "sgd"]
Schedule = Literal["constant", "cosine", "linear"]


def unused_options(kind: Optimizer) -> dict[str, str]:
    """The options that an optimizer does not read, each with a reason."""
    if kind == "sgd":
        return {"betas": "sgd has momentum; betas are those of adam and adamw"}
    return {"momentum": f"it is sgd's; {kind} has betas"}


class FlatParameters:
    """The unique parameters of a decoder as views of one vector, their gradients of another.

    `values` and `gradients` (P,) share memory with the decoder's parameters from here on.
    `segments` are their stretches with one weight decay and one learning-rate scale each: what has
    two or more dimensions decays, biases and norms do not, and an initializer may scale the rate of
    a parameter (`learning_rate_scale`).
    """

    def __init__(self, decoder: Decoder) -> None:
        parameters = dict(decoder.named_parameters())
        stretches = _stretches(decoder)
        order = sorted(parameters, key=lambda name: stretches[name][0][1:])  # stable
        size = sum(parameter.numel() for parameter in parameters.values())
        like = next(iter(parameters.values()))
        self.values = torch.empty(size, dtype=like.dtype, device=like.device)
        self.gradients = torch.zeros_like(self.values)
        self.segments: list[tuple[slice, bool, float]] = []
        start = 0
        for name in order:
            parameter = parameters[name]
            end = start + parameter.numel()
            self.values[start:end] = parameter.detach().flatten()
            parameter.data = self.values[start:end].view_as(parameter)
            parameter.grad = self.gradients[start:end].view_as(parameter)
            for length, decays, scale in stretches[name]:
                self._add(slice(start, start + length), decays, scale)
                start += length
            assert start == end, "the ranges of a parameter cover it"

    def _add(self, place: slice, decays: bool, scale: float) -> None:
        if self.segments:
            last, *like = self.segments[-1]
            if like == [decays, scale] and last.stop == place.start:
                self.segments[-1] = (slice(last.start, place.stop), decays, scale)
                return
        self.segments.append((place, decays, scale))


def _stretches(decoder: Decoder) -> dict[str, list[tuple[int, bool, float]]]:
    """Of each parameter how many of its elements, in order, have which decay and scale."""
    choice = decoder.architecture.initializer
    initializer = choice.load()(decoder.architecture.dims(), **choice.options)
    scale_of = getattr(initializer, "learning_rate_scale", None)
    found: dict[str, list[tuple[int, bool, float]]] = {}
    for piece in slices(decoder):
        scale = float(scale_of(piece.info)) if scale_of else 1.0
        if not (math.isfinite(scale) and scale >= 0):
            raise ValueError(
                f"initializer {choice.name!r} scales the learning rate of {piece.info.path!r} by "
                f"{scale}: a finite number from 0 on is needed"
            )
        stretch = (piece.tensor.numel(), piece.parameter.ndim >= 2, scale)
        found.setdefault(piece.info.path, []).append(stretch)
    return found


def optimizer_of(
    flat: FlatParameters,
    kind: Optimizer,
    *,
    learning_rate: float,
    betas: tuple[float, float],
    momentum: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """The optimizer over the segments; weight decay is decoupled in `adamw` alone."""
    groups = []
    for place, decays, scale in flat.segments:
        segment = flat.values[place]
        segment.grad = flat.gradients[place]
        groups.append(
            {
                "params": [segment],
                "weight_decay": weight_decay if decays else 0.0,
                "lr": learning_rate * scale,
                "scale": scale,
            }
        )
    if kind == "sgd":
        return torch.optim.SGD(groups, lr=learning_rate, momentum=momentum, fused=True)
    adam = torch.optim.AdamW if kind == "adamw" else torch.optim.Adam
    return adam(groups, lr=learning_rate, betas=betas, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate, scaled for each group."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


def rates(
    learning_rate: float, *, steps: int, warmup_steps: int, schedule: Schedule
) -> Iterator[float]:
    """The learning rate of each step.

    It rises linearly over the warm-up, the last step of which has it whole. Then it stays, or
    falls to 0, which the step after the last would have: along a line, or half a cosine
    (arXiv:1608.03983).
    """
    for step in range(steps):
        if step < warmup_steps:
            yield learning_rate * (step + 1) / warmup_steps
            continue
        done = (step - warmup_steps) / (steps - warmup_steps)
        if schedule == "linear":
            yield learning_rate * (1 - done)
        elif schedule == "cosine":
            yield learning_rate * (1 + math.cos(math.pi * done)) / 2
        else:
            yield learning_rate


def state_of(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's own tensors by name; empty before the first step."""
    return {
        f"optimizer.{place}.{name}": value
        for place, group in enumerate(optimizer.param_groups)
        for name, value in optimizer.state.get(group["params"][0], {}).items()
        if isinstance(value, Tensor)
    }


def restore(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `state_of` gave."""
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, place, name = key.split(".", 2)
            parameter = optimizer.param_groups[int(place)]["params"][0]
            optimizer.state[parameter][name] = value.to(parameter.device)
