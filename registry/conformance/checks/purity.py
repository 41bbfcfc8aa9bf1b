"""What a forward pass leaves alone: its input, the global random state, the component itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from registry.conformance.checks.comparing import equal, same_bits
from registry.conformance.errors import CheckFailed
from registry.conformance.global_state import untouched
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials


@torch.no_grad()
def input_unchanged(subject: Subject) -> None:
    """Does not write into the tensors that it is given."""
    for trial in trials(subject):
        given = [x.clone() for x in trial.inputs(NAMED)]
        positions = torch.arange(NAMED)
        versions = [x._version for x in (*given, positions)]
        heads = trial.setting.sizes.dims.n_heads
        trial.call.invoke(trial.module(), given, positions, heads)
        if [x._version for x in (*given, positions)] != versions:
            raise CheckFailed(
                f"the input was changed in place{trial.words}: make a new tensor, x = x + 1 and "
                "not x += 1"
            )


@torch.no_grad()
def global_random_state(subject: Subject) -> None:
    """Draws from no global generator in evaluation mode."""
    for trial in trials(subject):
        module, inputs = trial.module(), trial.inputs(NAMED)
        with untouched(f"the forward pass in evaluation mode{trial.words}"):
            trial.run(module, inputs)


@torch.no_grad()
def determinism(subject: Subject) -> None:
    """Gives the same in evaluation mode each time, and keeps its state."""
    for trial in trials(subject):
        module, inputs = trial.module(), trial.inputs(NAMED)
        state = _state(module)
        first, second = trial.run(module, inputs), trial.run(module, inputs)
        other = trial.run(trial.module(), inputs)
        if not (same_bits(first, second) and same_bits(first, other)):
            which = "one component" if not same_bits(first, second) else "two equal components"
            raise CheckFailed(
                f"{which} gave two outputs for one input in evaluation mode{trial.words}: keep "
                "nothing from one pass to the next, and draw at random in training mode alone"
            )
        changed = _changed(state, module)
        if changed:
            raise CheckFailed(
                f"{changed!r} changed in evaluation mode{trial.words}: write to it in training "
                "mode alone"
            )


@torch.no_grad()
def training_mode(subject: Subject) -> None:
    """Trains and goes back: finite, the same for equal seeds of torch, evaluation as it was."""
    for trial in trials(subject):
        module, inputs = trial.module(), trial.inputs(NAMED)
        _check_mode(module, "eval()", training=False)
        before, state = trial.run(module, inputs), _state(module)
        module.train()
        _check_mode(module, "train()", training=True)
        first, second = (
            _trained(trial, part, inputs) for part in (module, trial.module(training=True))
        )
        if not same_bits(first, second):
            raise CheckFailed(
                f"two passes in training mode differ under equal seeds of torch{trial.words}: draw "
                "from torch's generator alone"
            )
        if not all(bool(torch.isfinite(y).all()) for y in first):
            raise CheckFailed(f"the output in training mode is not finite{trial.words}")
        module.eval()
        if not _changed(state, module) and not same_bits(before, trial.run(module, inputs)):
            raise CheckFailed(
                f"a pass in training mode changed what evaluation gives{trial.words}, and nothing "
                "in state_dict shows it: register what is kept as a buffer"
            )


def _check_mode(module: nn.Module, call: str, *, training: bool) -> None:
    for name, part in module.named_modules():
        if part.training is not training:
            raise CheckFailed(
                f"{call} does not reach {name or 'the component itself'}: leave it to "
                "torch.nn.Module, or call it for every part"
            )


def _trained(trial: Trial, module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    torch.default_generator.manual_seed(1)
    return trial.run(module, inputs)


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def _changed(state: Mapping[str, Tensor], module: nn.Module) -> str | None:
    """The first entry of the state that is not as it was."""
    now = module.state_dict()
    return next((name for name, tensor in state.items() if not equal(tensor, now[name])), None)
