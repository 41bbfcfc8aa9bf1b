"""Gradients of a tiny decoder beside finite differences in float64.

A central difference of step ε along a unit direction errs by ε²·|L'''|/6, and by the rounding of L,
about 2⁻⁵³·|L|/ε. At ε = 1e-5 and an L of a few nats the second is 4e-11: over all built-ins at most
5e-11 is measured, and where a gradient is small 4e-8 of it. Ten times the step lets truncation, a
tenth of it rounding grow tenfold. Rectifiers have kinks, which a step so small does not reach from
any pre-activation of these seeds.
"""

from __future__ import annotations

import itertools
import math
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import ablations
from ablations.initialization import slices
from registry import Catalog, ComponentSpec, InvalidOptions, discover

TINY = {"depth": 2, "d_model": 8, "n_heads": 4, "head_dim": 4, "context": 6, "vocab_size": 11}
"""Heads wider in all than the model, and enough of them to share two key/value heads."""

STEP = 1e-5
RELATIVE, ABSOLUTE = 1e-7, 1e-9
CATALOG = discover()


def variants(spec: ComponentSpec) -> Iterator[dict[str, Any]]:
    """The options that a component needs, then in turn each other one moved off its default."""
    signature = CATALOG.signature(spec)

    def accepted(options: Mapping[str, Any]) -> bool:
        try:
            CATALOG.choose(spec, options)
        except InvalidOptions:
            return False
        return True

    required = [option.name for option in signature.options if option.required]
    tried = [[*_words(signature.annotations[name]), 2, 0.5, True] for name in required]
    combined = (dict(zip(required, values, strict=True)) for values in itertools.product(*tried))
    needed = next(filter(accepted, combined))
    yield needed
    for option in signature.options:
        if option.required:
            continue
        words = [*_words(signature.annotations[option.name]), True, False]
        words = [value for value in words if accepted({**needed, option.name: value})]
        numbers = [value for value in (0.5, 2) if accepted({**needed, option.name: value})]
        for value in dict.fromkeys([*words, *numbers[:1]]):
            if value != option.default:
                yield {**needed, option.name: value}


def _words(annotation: Any) -> Iterator[Any]:
    """The values that an annotation lists."""
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    else:
        for part in typing.get_args(annotation):
            yield from _words(part)


def moved(model: Mapping[str, Any], catalog: Catalog = CATALOG) -> ablations.Decoder:
    """A decoder in float64, every parameter moved so far that all of them matter."""
    decoder = ablations.build({**TINY, **model}, catalog=catalog).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter += 0.3 * _normal(parameter.shape, generator)
    return decoder


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def loss_of(decoder: ablations.Decoder) -> Tensor:
    """The mean cross-entropy of random targets, over 2 × 6 random tokens."""
    generator = torch.Generator().manual_seed(2)
    tokens, targets = (torch.randint(11, (2, 6), generator=generator) for _ in range(2))
    return F.cross_entropy(decoder(tokens).flatten(0, 1), targets.flatten())


def gradients(decoder: ablations.Decoder) -> dict[str, tuple[Tensor, Tensor]]:
    """Each parameter and its gradient; of a fused one, and its bias, the parts apart: `x[k]`."""
    parameters = dict(decoder.named_parameters())
    found = torch.autograd.grad(loss_of(decoder), list(parameters.values()))
    ranges: dict[str, list[tuple[str, slice]]] = {path: [] for path in parameters}
    for piece in slices(decoder):
        ranges[piece.info.path].append((piece.info.role, piece.rows))
    parts = {}
    for (path, parameter), gradient in zip(parameters.items(), found, strict=True):
        weight = f"{path.removesuffix('.bias')}.weight"
        fused = ranges.get(weight, []) if path.endswith(".bias") else ranges[path]
        if len(fused) < 2:
            parts[path] = (parameter.detach(), gradient)
            continue
        for role, rows in fused:
            parts[f"{path}[{role}]"] = (parameter.detach()[rows], gradient[rows])
    return parts


def disagreements(decoder: ablations.Decoder) -> dict[str, tuple[float, float]]:
    """Where the slope along a random direction is not what the gradient says: (slope, said)."""
    generator = torch.Generator().manual_seed(3)
    wrong = {}
    for name, (values, gradient) in gradients(decoder).items():
        direction = _normal(values.shape, generator)
        direction /= direction.norm()
        start = values.clone()
        losses = []
        for step in (STEP, -STEP):
            values.copy_(start + step * direction)
            losses.append(float(loss_of(decoder).detach()))
        values.copy_(start)
        slope = (losses[0] - losses[1]) / (2 * STEP)
        said = float((gradient * direction).sum())
        if not abs(slope - said) <= RELATIVE * float(gradient.norm()) + ABSOLUTE:
            wrong[name] = (slope, said)
    return wrong


def vanishing(decoder: ablations.Decoder) -> set[str]:
    """The parameters without a gradient; all others have far more than rounding."""
    sizes = {name: float(gradient.norm()) for name, (_, gradient) in gradients(decoder).items()}
    whole = math.hypot(*sizes.values())
    assert not {name for name, size in sizes.items() if 1e-12 * whole <= size <= 1e-5 * whole}
    return {name for name, size in sizes.items() if size < 1e-12 * whole}
