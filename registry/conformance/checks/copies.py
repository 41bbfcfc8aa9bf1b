"""Whether a component can be saved, copied and sent to another process."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import torch

from registry.conformance.checks.comparing import same_bits
from registry.conformance.errors import CheckFailed
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import trials_of
from registry.errors import describe

COPIES: dict[str, Callable[[Any], Any]] = {
    "a deep copy": copy.deepcopy,
    "a pickled copy": lambda module: pickle.loads(pickle.dumps(module)),  # noqa: S301  # our own
}


def state_dict(subject: Subject) -> None:
    """A fresh one that loads `state_dict` strictly gives what this one gives, also once trained."""
    for setting in subject.main:
        module: Any = subject.module(setting, seed=1)
        found = trials_of(subject, setting)
        if hasattr(module, "calibrate"):
            module.calibrate(0.5)
        module.train()
        with torch.no_grad():
            for trial in found:
                trial.run(module, trial.inputs(NAMED, seed=1))
        module.eval()
        fresh = subject.module(setting, seed=2)
        try:
            fresh.load_state_dict(module.state_dict(), strict=True)
        except Exception as error:
            raise CheckFailed(
                f"a fresh one cannot load state_dict: {describe(error)}: build the same parameters "
                "and buffers each time"
            ) from error
        with torch.no_grad():
            for trial in found:
                inputs = trial.inputs(NAMED)
                if not same_bits(trial.run(module, inputs), trial.run(fresh, inputs)):
                    raise CheckFailed(
                        f"a fresh one with the state_dict of another gives other outputs"
                        f"{trial.words}: register what it keeps as a parameter or buffer"
                    )


def copies(subject: Subject) -> None:
    """Deep and pickled copies can be made, after a pass too, and give the same."""
    for setting in subject.main:
        module = subject.module(setting)
        found = trials_of(subject, setting)
        for trial in found:
            trial.run(module, [x.requires_grad_() for x in trial.inputs(NAMED)])
        for words, make in COPIES.items():
            try:
                made = make(module)
            except Exception as error:
                raise CheckFailed(
                    f"{words} cannot be made: {describe(error)}: keep neither functions nor "
                    "tensors of a pass in attributes, and define the class at module level"
                ) from error
            with torch.no_grad():
                for trial in found:
                    inputs = trial.inputs(NAMED)
                    if not same_bits(trial.run(module, inputs), trial.run(made, inputs)):
                        raise CheckFailed(f"{words} gives other outputs{trial.words}")
