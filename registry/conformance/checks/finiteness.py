"""Whether numbers stay numbers: outputs and gradients at any size, a norm in half precision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from registry.conformance.errors import CheckFailed
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials

SCALES = {"all zero": 0.0, "of size 0.001": 1e-3, "of size 1000": 1e3}
HALVES = ((torch.bfloat16, "bfloat16", 100.0, 1.0), (torch.float16, "float16", 0.0, 1e3))
"""A dtype, its name, the mean and the standard deviation of what a norm is given in it."""

LOST = 0.02
"""What rounding to half precision may cost a norm, as a fraction of its output's size."""


def finite(subject: Subject) -> None:
    """Outputs and gradients are finite at inputs of zero and of size 0.001 and 1000."""
    for trial in trials(subject):
        for words, scale in SCALES.items():
            module = trial.module(torch.float32)
            inputs = [x * scale for x in trial.inputs(NAMED, torch.float32)]
            _check_finite(trial, module, inputs, f"for inputs {words}" if inputs else "")


@torch.no_grad()
def precision(subject: Subject) -> None:
    """Computes its statistics in float32 or better: half precision costs it no more than rounding.

    Tried with bfloat16 numbers of mean 100 and standard deviation 1, and with float16 numbers of
    size 1000, whose squares float16 does not hold; a norm that cannot take float16 need not.
    """
    for trial in trials(subject):
        for dtype, name, mean, scale in HALVES:
            inputs = [(mean + scale * x).to(dtype) for x in trial.inputs(NAMED)]
            module = trial.module(dtype)
            try:
                rounded = trial.run(module, inputs)
            except CheckFailed:
                if dtype is torch.float16:
                    continue
                raise
            exact = trial.run(module.double(), [x.double() for x in inputs])
            for got, expected in zip(rounded, exact, strict=True):
                if not bool(torch.isfinite(expected).all()):
                    continue  # which is for another check
                error = float((got.double() - expected).abs().max())
                if not error <= LOST * float(expected.abs().max()):
                    raise CheckFailed(
                        f"in {name}, at a mean of {mean:g} and a standard deviation of {scale:g}, "
                        f"the output is off by more than rounding{trial.words}: compute statistics "
                        "in float32"
                    )


def _check_finite(trial: Trial, module: nn.Module, inputs: Sequence[Tensor], words: str) -> None:
    leaves = [x.requires_grad_() for x in inputs]
    outputs = trial.run(module, leaves)
    if not all(bool(torch.isfinite(y).all()) for y in outputs):
        raise CheckFailed(f"the output is not finite {words}".rstrip() + f"{trial.words}: {ADVICE}")
    named = {f"the input {words}": x for x in leaves}
    named |= {f"{name!r} {words}".rstrip(): p for name, p in module.named_parameters()}
    loss = sum((y * normal(y.shape, "loss", dtype=y.dtype)).sum() for y in outputs)
    if not isinstance(loss, Tensor) or not loss.requires_grad:
        return
    found = torch.autograd.grad(loss, list(named.values()), materialize_grads=True)
    for name, gradient in zip(named, found, strict=True):
        if not bool(torch.isfinite(gradient).all()):
            raise CheckFailed(f"the gradient by {name} is not finite{trial.words}: {ADVICE}")


ADVICE = "keep roots, logarithms and quotients away from 0, and exponents from overflow"
