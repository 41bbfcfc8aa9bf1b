"""What an attention says that it honours: the position that it is handed, and dropout."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.checks.comparing import near, same_bits
from registry.conformance.errors import CheckFailed, NotApplicable, Refused
from registry.conformance.sizes import NAMED
from registry.conformance.standins import Biasing, Rotating
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials

RATE = 0.5


@torch.no_grad()
def position_hooks(subject: Subject) -> None:
    """Rotates queries and keys by a position that does so, and adds the bias of one that has it."""
    trial = trials(subject)[0]
    module: Any = trial.module()
    if not _says(module, "position_hooks"):
        raise NotApplicable("it says that it takes no position but one added to the embedding")
    inputs = trial.inputs(NAMED)
    plain = trial.run(module, inputs)
    watched: list[_Watched] = [_WatchedRotating(trial), _WatchedBiasing(trial)]
    for position in watched:
        acted: Tensor = module(*inputs, position=position)
        if not position.calls:
            raise CheckFailed(
                f"position_hooks is True, but {position.hook} of the position is never called"
            )
        if near(plain, (acted,)):
            raise CheckFailed(
                f"position_hooks is True, but what {position.hook} gives changes nothing"
            )


@torch.no_grad()
def attention_dropout(subject: Subject) -> None:
    """Drops in training with `dims.attention_dropout`, at random, and in evaluation never."""
    trial = trials(subject)[0]
    if not _says(trial.module(), "attention_dropout"):
        raise NotApplicable("it says that it has no attention dropout")
    inputs = trial.inputs(NAMED)
    module = trial.module(attention_dropout=RATE)
    if not same_bits(trial.run(module, inputs), trial.run(trial.module(), inputs)):
        raise CheckFailed(
            "dims.attention_dropout changes the output in evaluation mode: drop where "
            "self.training is True alone"
        )
    module.train()
    torch.default_generator.manual_seed(1)
    one, other = trial.run(module, inputs), trial.run(module, inputs)
    if same_bits(one, other):
        raise CheckFailed(
            "attention_dropout is True, but two passes in training mode with "
            f"dims.attention_dropout {RATE} are equal"
        )


@torch.no_grad()
def head_dim(subject: Subject) -> None:
    """Takes the width of its heads from `dims.head_dim`, if it has heads, or refuses another."""
    trial = trials(subject)[0]
    sizes = trial.setting.sizes.dims
    inputs = trial.inputs(NAMED)
    try:
        module = trial.module()
        wider = trial.module(head_dim=2 * sizes.head_dim)
        more = trial.module(n_heads=2 * sizes.n_heads)
    except Refused as refusal:
        raise NotApplicable(f"it refuses other heads: {refusal}") from refusal
    as_it_is = trial.run(module, inputs)
    ignored = _same_shapes(module, wider) and same_bits(as_it_is, trial.run(wider, inputs))
    has_heads = not _same_shapes(module, more) or not same_bits(as_it_is, trial.run(more, inputs))
    if has_heads and ignored:
        raise CheckFailed(
            "dims.n_heads changes it, but dims.head_dim does not: give each head dims.head_dim "
            "features, or refuse what is not d_model / n_heads by registry.Incompatible"
        )


def _same_shapes(one: nn.Module, other: nn.Module) -> bool:
    shapes = [{name: p.shape for name, p in module.named_parameters()} for module in (one, other)]
    return shapes[0] == shapes[1]


def _says(module: nn.Module, name: str) -> bool:
    said = getattr(module, name, False)
    if not isinstance(said, bool):
        raise CheckFailed(f"{name} must be True or False, not {said!r:.40}")
    return said


class _Watched:
    """A position that has one hook, counts its calls and looks at what it is given."""

    hook = ""
    per_layer = False

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.calls = 0

    def expect(self, what: str, good: bool, wanted: str, got: Tensor) -> None:
        """Refuse what has not the shape or the values that the hook is promised."""
        if not good:
            shape = self.trial.names(NAMED).shape(got.shape)
            raise CheckFailed(f"{self.hook} was given {what} {shape}, expected {wanted}")

    def check_positions(self, positions: Tensor, what: str) -> None:
        """Positions count the tokens from 0."""
        if positions.shape != (NAMED,) or positions.tolist() != list(range(NAMED)):
            raise CheckFailed(
                f"{self.hook} was given {what} {positions.tolist()!s:.60}, expected those of the "
                f"tokens, 0 to {NAMED - 1}"
            )


class _WatchedRotating(_Watched):
    hook = "rotate"

    def rotate(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        self.check_positions(positions, "positions")
        for what, part, heads in (("q", q, "H"), ("k", k, "K")):
            good = part.ndim == 4 and part.shape[2] == NAMED
            self.expect(what, good, f"(B, {heads}, T, C)", part)
        return Rotating().rotate(q, k, positions)


class _WatchedBiasing(_Watched):
    hook = "bias"

    def bias(self, n_heads: int, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        self.calls += 1
        self.check_positions(q_positions, "query positions")
        self.check_positions(k_positions, "key positions")
        return Biasing().bias(n_heads, q_positions, k_positions)
