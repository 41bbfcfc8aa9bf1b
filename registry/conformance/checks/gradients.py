"""Whether every parameter is reached by a gradient, and whether the gradient is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from registry.conformance.checks.construction import declared_roles
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED, TOKENS
from registry.conformance.subject import Setting, Subject
from registry.conformance.trials import Trial, trials

NONE = 1e-10
"""A gradient below this fraction of the largest is rounding, as a key bias without positions has.
"""
STEP = 1e-6
AGREE = 1e-4
"""How near central differences come, as a fraction of the gradient's size in that direction."""


def parameter_gradients(subject: Subject) -> None:
    """Every parameter receives gradient in some call, but for what a role declares not to.

    A parameter of which roles name ranges is looked at range by range.
    """
    by_setting: dict[Setting, list[Trial]] = {}
    for trial in trials(subject):
        by_setting.setdefault(trial.setting, []).append(trial)
    looked_at = 0
    for setting, found in by_setting.items():
        gradients = _accumulated(found)
        looked_at += len(gradients)
        largest = max((float(g.abs().max()) for g in gradients.values()), default=0.0)
        roles = declared_roles(subject, setting)
        for name, gradient in gradients.items():
            for rows, role in roles.get(name, ((slice(None), None),)):
                part = gradient[rows] if gradient.ndim else gradient
                if role is not None and not role.gradient:
                    continue
                if part.numel() and float(part.abs().max()) <= NONE * largest:
                    words = f" {setting.words}" if setting.words else ""
                    of = f" (rows of role {role.role!r})" if role and role.rows else ""
                    raise CheckFailed(
                        f"parameter {name!r}{of} receives no gradient{words}: use it, remove it, "
                        "or say so in parameter_roles, ParameterRole(..., gradient=False)"
                    )
    if not looked_at:
        raise NotApplicable("it has no parameters")


def derivative(subject: Subject) -> None:
    """What autograd says of inputs and parameters is what central differences say, in float64.

    A difference is believed when it shows in three directions: a maximum, or a choice among
    experts, may have an edge right there.
    """
    looked_at = 0
    for trial in trials(subject):
        module, inputs = trial.module(), trial.inputs(NAMED)
        named: dict[str, Tensor] = {
            f"the input {number}" if len(inputs) > 1 else "the input": x
            for number, x in enumerate(inputs)
        }
        named |= {repr(name): parameter for name, parameter in module.named_parameters()}
        looked_at += len(named)
        wrong = _wrong(lambda: _weighted(trial.run(module, inputs)), named)  # noqa: B023  # now
        if wrong:
            raise CheckFailed(
                f"autograd is wrong by {' and '.join(wrong)}{trial.words}, as central differences "
                "show: a path is detached, or a backward of its own is wrong"
            )
    if not looked_at:
        raise NotApplicable("it has neither inputs nor parameters")


def _accumulated(found: Sequence[Trial]) -> dict[str, Tensor]:
    """The absolute gradients of a long pass by each parameter, summed over ways to call it."""
    total: dict[str, Tensor] = {}
    for trial in found:
        module = trial.module()
        parameters = dict(module.named_parameters())
        outputs = trial.run(module, trial.inputs(TOKENS[-1]), tokens=TOKENS[-1])
        loss = _weighted(outputs)
        for name, parameter in parameters.items():
            total.setdefault(name, torch.zeros_like(parameter))
        if parameters and loss.requires_grad:
            found_by = torch.autograd.grad(loss, list(parameters.values()), materialize_grads=True)
            for name, gradient in zip(parameters, found_by, strict=True):
                total[name] = total[name] + gradient.abs()
    return total


def _weighted(outputs: Sequence[Tensor]) -> Tensor:
    parts = [
        (y.double() * normal(y.shape, f"loss {number}")).sum() for number, y in enumerate(outputs)
    ]
    return torch.stack(parts).sum()


def _wrong(loss: Callable[[], Tensor], named: Mapping[str, Tensor]) -> list[str]:
    """By which tensors the gradient is not what central differences say."""
    real = {name: x for name, x in named.items() if x.is_floating_point()}
    differentiable = {name: x.requires_grad_() for name, x in real.items()}
    value = loss()
    if not bool(torch.isfinite(value)):
        raise NotApplicable("its output is not finite")
    if not differentiable:
        return []
    tensors = list(differentiable.values())
    gradients = (
        torch.autograd.grad(value, tensors, materialize_grads=True)
        if value.requires_grad
        else tuple(map(torch.zeros_like, tensors))
    )
    return [
        name
        for (name, x), gradient in zip(differentiable.items(), gradients, strict=True)
        if not any(_agree(loss, x, gradient, f"{name} {number}") for number in range(3))
    ]


@torch.no_grad()
def _agree(loss: Callable[[], Tensor], x: Tensor, gradient: Tensor, stream: str) -> bool:
    """Whether gradient and central difference along a random direction are near."""
    direction = normal(x.shape, stream, dtype=x.dtype)
    kept = x.clone()
    ends = []
    for step in (STEP, -STEP):
        x.copy_(kept + step * direction)
        ends.append(float(loss()))
    x.copy_(kept)
    measured = (ends[0] - ends[1]) / (2 * STEP)
    told, size = float((gradient * direction).sum()), float(gradient.norm())
    rounding = 1e-8 * (1 + abs(ends[0]))
    return abs(measured - told) <= AGREE * max(size, abs(measured)) + rounding
