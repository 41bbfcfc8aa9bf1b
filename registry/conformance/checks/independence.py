"""Whether samples of a batch, and where a kind acts on each token alone tokens, are independent."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from registry.conformance.checks.causality import hint
from registry.conformance.checks.comparing import near, same_bits
from registry.conformance.errors import CheckFailed
from registry.conformance.random_values import normal
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials

LENGTHS = (1, 7, 33)


@torch.no_grad()
def batch_independence(subject: Subject) -> None:
    """A sample's output does not depend on the others, nor on how many there are."""
    for trial in trials(subject, fed=True):
        dims = [0] * len(trial.call.inputs)
        for tokens in LENGTHS:
            _check(trial, tokens, dims, [0] * len(trial.call.outputs), "sample", 1)


@torch.no_grad()
def per_token(subject: Subject) -> None:
    """A token's output does not depend on other tokens, nor on how many there are."""
    for trial in trials(subject, fed=True):
        outputs = [shape.index("T") for shape in trial.call.outputs]
        for tokens in LENGTHS[1:]:
            for place in (0, tokens // 2, tokens - 1):
                _check(trial, tokens, trial.token_dims(), outputs, "token", place)


def _check(
    trial: Trial, tokens: int, dims: list[int], out_dims: list[int], what: str, place: int
) -> None:
    for training in (False, True):
        for dtype, same in ((torch.float32, same_bits), (torch.float64, near)):
            inputs = trial.inputs(tokens, dtype)
            module = trial.module(dtype, training=training)
            one = _outputs(trial, module, inputs)
            other = _outputs(trial, module, _others_changed(inputs, dims, place))
            if same(_at(one, out_dims, place), _at(other, out_dims, place)):
                break
        else:
            mode = " in training mode" if training else ""
            raise CheckFailed(
                f"the output of {what} {place} of {inputs[0].shape[dims[0]]} changes with the "
                f"other {what}s{mode}{trial.words}: compute nothing over the {_dimension(what)}"
                f"{hint(trial)}"
            )
    module, inputs = trial.module(), trial.inputs(tokens)
    alone = trial.run(module, _at(inputs, dims, place))
    if not near(alone, _at(trial.run(module, inputs), out_dims, place)):
        raise CheckFailed(
            f"{what} {place} of {inputs[0].shape[dims[0]]} gives another output when it is "
            f"alone{trial.words}: compute nothing over the {_dimension(what)}{hint(trial)}"
        )


def _outputs(trial: Trial, module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    torch.default_generator.manual_seed(1)  # equal masks of dropout
    return trial.run(module, inputs)


def _others_changed(inputs: Sequence[Tensor], dims: Sequence[int], place: int) -> list[Tensor]:
    """Other values everywhere but there, three times as large."""
    changed = []
    for number, (x, dim) in enumerate(zip(inputs, dims, strict=True)):
        other = 3 * normal(x.shape, f"other {number}", dtype=x.dtype)
        other.narrow(dim, place, 1).copy_(x.narrow(dim, place, 1))
        changed.append(other)
    return changed


def _at(tensors: Sequence[Tensor], dims: Sequence[int], place: int) -> list[Tensor]:
    return [x.narrow(dim, place, 1).contiguous() for x, dim in zip(tensors, dims, strict=True)]


def _dimension(what: str) -> str:
    return "batch" if what == "sample" else "tokens"
