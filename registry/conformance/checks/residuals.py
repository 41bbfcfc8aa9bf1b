"""What a residual makes of the stream and the update."""

from __future__ import annotations

import torch

from registry.conformance.errors import CheckFailed
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import trials


def uses_both(subject: Subject) -> None:
    """Its output depends on the stream and on the update."""
    for trial in trials(subject):
        inputs = [x.requires_grad_() for x in trial.inputs(NAMED)]
        (y,) = trial.run(trial.module(), inputs)
        if not y.requires_grad:
            raise CheckFailed("the output depends neither on the stream nor on the update")
        found = torch.autograd.grad(y.square().sum(), inputs, materialize_grads=True)
        for name, gradient in zip(("the stream", "the update"), found, strict=True):
            if not bool(gradient.any()):
                raise CheckFailed(f"the output does not depend on {name}: use x and update")
