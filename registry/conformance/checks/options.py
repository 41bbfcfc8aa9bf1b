"""Whether every option changes something that can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from registry.conformance.checks.comparing import equal
from registry.conformance.errors import CheckFailed, NotApplicable, Refused
from registry.conformance.filling import ROLES, filled
from registry.conformance.option_values import alternatives
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED, TOKENS
from registry.conformance.subject import Setting, Subject
from registry.conformance.trials import Trial, trials, trials_of
from registry.spec import plain

Seen = dict[str, Any]
"""What can be seen of a component, by name."""

LONGEST = TOKENS[-1]


@torch.no_grad()
def options(subject: Subject) -> str | None:
    """Each option, at another value that can be built, changes something that can be seen.

    Looked at: names, shapes and initial values of parameters and buffers; outputs in evaluation and
    in training and gradients, with equal random parameters; a cache's bytes; roles; final_norm and
    init_gain; what an initializer draws. An option that matters only beside another is tried with
    that one changed.
    """
    names = [option.name for option in subject.signature.options]
    if not names:
        raise NotApplicable("it has no options")
    as_it_is = _seen_of(subject, subject)
    unchangeable = [name for name in names if not _honoured(subject, name, as_it_is)]
    if len(unchangeable) == len(names):
        raise NotApplicable(_untried(unchangeable))
    return _untried(unchangeable) if unchangeable else None


def _honoured(subject: Subject, name: str, as_it_is: Seen | None) -> bool:
    """Whether an option was seen to act; False if no other value of it can be built.

    Raises: CheckFailed when it changes nothing.
    """
    current = subject.values[name]
    tried: list[Any] = []
    for context in _contexts(subject, name):
        before = as_it_is if context is subject else _seen_of(subject, context)
        if before is None:
            continue
        for value in alternatives(subject.signature, name, current):
            after = _seen_of(subject, subject.changed({**context.given, name: value}))
            if after is not None and not _alike(before, after):
                return True
            if after is not None:
                tried.append(value)
        if not tried:  # nor would it be beside another
            return False
    shown = " or ".join(map(plain, tried[:3]))
    raise CheckFailed(
        f"option {name!r} changes nothing when it is {shown} instead of {plain(current)}: use it, "
        "or remove it"
    )


def _untried(names: list[str]) -> str:
    return f"no other value can be built of {', '.join(map(repr, names))}"


def _contexts(subject: Subject, name: str) -> Iterator[Subject]:
    """The component as it is, and then with another of its options changed."""
    yield subject
    for option in subject.signature.options:
        if option.name != name:
            current = subject.values[option.name]
            for value in alternatives(subject.signature, option.name, current, at_most=4):
                yield subject.changed({option.name: value})


def _seen_of(base: Subject, subject: Subject) -> Seen | None:
    """What can be seen of a component; None where it refuses the sizes that the base takes."""
    try:
        if subject.main != base.main:
            return None
        return {
            f"{setting.words} {key}": item
            for setting in subject.main
            for key, item in _seen(subject, setting)
        }
    except (CheckFailed, Refused):
        return None


def _seen(subject: Subject, setting: Setting) -> Iterator[tuple[str, Any]]:
    if not subject.is_module:
        yield from ((role, filled(subject, role)) for role in ROLES)
        return
    built = subject.build(setting).component
    yield "state", built.state_dict()
    yield "final norm", getattr(built, "final_norm", None)
    gain = getattr(built, "init_gain", None)
    yield "gains", [gain(role) for role in ROLES] if gain is not None else None
    yield "roles", repr(getattr(built, "parameter_roles", dict)())
    for training in (False, True):
        module: Any = subject.module(setting, training=training)
        if hasattr(module, "calibrate"):
            module.calibrate(0.5)
        for trial in trials_of(subject, setting):
            torch.default_generator.manual_seed(1)
            outputs = trial.run(module, trial.inputs(LONGEST, batch=1), tokens=LONGEST)
            yield f"outputs {training} {trial.words}", list(outputs)
    for trial in trials_of(subject, setting):
        yield f"gradients{trial.words}", _gradients(trial)
    yield "cache", _cache_bytes(subject, setting)


@torch.enable_grad()
def _gradients(trial: Trial) -> list[Tensor]:
    module = trial.module()
    tensors = [*trial.inputs(NAMED), *module.parameters()]
    leaves = [x.requires_grad_() for x in tensors if x.is_floating_point()]
    outputs = trial.run(module, leaves[: len(trial.call.inputs)])
    loss = torch.stack([(y.double() * normal(y.shape, "loss")).sum() for y in outputs]).sum()
    if not leaves or not loss.requires_grad:
        return []
    return list(torch.autograd.grad(loss, leaves, materialize_grads=True))


def _cache_bytes(subject: Subject, setting: Setting) -> Any:
    module: Any = subject.module(setting)
    if not hasattr(module, "new_cache"):
        return None
    try:
        cache = module.new_cache()
        module(*trials(subject)[0].inputs(LONGEST, batch=1), cache=cache)
        return cache.nbytes
    except Exception as error:  # what a cache must do is for another check
        return type(error).__name__


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return equal(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
