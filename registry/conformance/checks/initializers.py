"""What an initializer does: fills a tensor in place, from its own generator alone."""

from __future__ import annotations

import copy
import pickle

import torch

from registry.conformance.checks.comparing import equal
from registry.conformance.errors import CheckFailed
from registry.conformance.filling import TARGETS, fill, tell
from registry.conformance.global_state import untouched
from registry.conformance.subject import Subject
from registry.errors import describe


def fills(subject: Subject) -> None:
    """Fills matrices, embeddings and convolutions of every common role, in place and finite."""
    for target in TARGETS:
        whole = fill(subject, target, rows=2)
        inside, outside = whole[2:-2], torch.cat((whole[:2], whole[-2:]))
        if bool(inside.isnan().all()):
            raise CheckFailed(
                f"{tell(target)} is not filled: write into the tensor itself, as "
                "tensor.normal_(generator=generator) does"
            )
        if not bool(torch.isfinite(inside).all()):
            raise CheckFailed(f"{tell(target)} holds numbers that are not finite")
        if not bool(outside.isnan().all()):
            raise CheckFailed(f"filling {tell(target)} wrote outside of the rows that it was given")
        if whole.requires_grad:
            raise CheckFailed(
                f"{tell(target)} asks for gradients once it is filled: fill it without"
            )


def own_generator(subject: Subject) -> None:
    """Draws from the generator that it is given alone: equal generators, equal values."""
    for target in TARGETS:
        with untouched(f"filling {tell(target)}"):
            one = fill(subject, target)
        torch.default_generator.manual_seed(99)
        if not equal(one, fill(subject, target)):
            raise CheckFailed(
                f"equal generators give other values of {tell(target)}: keep nothing from one "
                "tensor to the next, and draw from the generator that is given"
            )
        if not equal(one, fill(subject, target, value=0.0)):
            raise CheckFailed(
                f"{tell(target)} is filled according to what it held before: write every number "
                "anew"
            )


def initializer_copies(subject: Subject) -> None:
    """Deep copies and pickled copies can be made."""
    initializer = subject.build(subject.settings[0]).component
    try:
        copy.deepcopy(initializer)
        pickle.loads(pickle.dumps(initializer))  # noqa: S301  # our own
    except Exception as error:
        raise CheckFailed(
            f"no copy can be made: {describe(error)}: keep no functions in attributes, and define "
            "the class at module level"
        ) from error
