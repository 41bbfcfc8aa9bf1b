"""What a component returns: shapes and dtypes at every length."""

from __future__ import annotations

import torch
from torch import Tensor

from registry.conformance.errors import CheckFailed
from registry.conformance.sizes import NAMED, TOKENS
from registry.conformance.subject import Subject
from registry.conformance.trials import trials

DTYPES = (torch.float32, torch.bfloat16, torch.float64)


@torch.no_grad()
def shape(subject: Subject) -> None:
    """Returns tensors of the right shape at 1, 2, 7, 33 and 130 tokens, at every size."""
    for trial in trials(subject, every_size=True):
        module = trial.module(torch.float32)
        for tokens in (NAMED, *TOKENS):
            trial.run(module, trial.inputs(tokens, torch.float32), tokens=tokens)


@torch.no_grad()
def dtype(subject: Subject) -> None:
    """Returns the dtype that it is given, float32, bfloat16 or float64."""
    for trial in trials(subject):
        for expected in DTYPES:
            module = trial.module(expected)
            for tokens in TOKENS:
                for output in trial.run(module, trial.inputs(tokens, expected), tokens=tokens):
                    _check_dtype(output, expected, own=trial.call.own_dtype, words=trial.words)


@torch.no_grad()
def leading_dimensions(subject: Subject) -> None:
    """Takes (…, F) with any leading dimensions."""
    for trial in trials(subject):
        module = trial.module()
        full = trial.inputs(NAMED)
        (expected,) = trial.run(module, full)
        for flat in (True, False):
            # (B, T, F) as (B · T, F) and as (B, 1, T, F)
            inputs = [x.flatten(0, 1) if flat else x.unsqueeze(1) for x in full]
            wanted = expected.flatten(0, 1) if flat else expected.unsqueeze(1)
            name = "(B·T, F)" if flat else "(B, 1, T, F)"
            try:
                got = module(*inputs)
            except Exception as error:
                raise CheckFailed(
                    f"{name} is not taken as (B, T, F) is: act on the last dimension alone"
                ) from error
            if got.shape != wanted.shape or not torch.allclose(got, wanted, rtol=1e-9, atol=1e-12):
                raise CheckFailed(
                    f"{name} gives other values than (B, T, F): act on the last dimension alone"
                )


def _check_dtype(output: Tensor, expected: torch.dtype, *, own: bool, words: str) -> None:
    if own and output.is_floating_point():
        return
    if output.dtype != expected:
        names = [str(kind).removeprefix("torch.") for kind in (expected, output.dtype)]
        raise CheckFailed(
            f"output: expected {names[0]} for {names[0]}, got {names[1]}{words}: cast the result "
            "to the dtype of the input, or register tensors that are no parameters as buffers"
        )
