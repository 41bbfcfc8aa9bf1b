"""What an attention says of itself: its weights and scores, and whether its output agrees.

Shapes: B batch, H heads, T tokens, D d_model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.checks.comparing import NOTHING
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.raising import raised
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED
from registry.conformance.standins import Biasing, Rotating
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials

LENGTHS = (NAMED, 1, 2, 33)
ROUNDING = 1e-5
"""Weights are probabilities in float32 or better."""
SEEN = 1e-3
"""A weight above this must show in the output."""


def weights(subject: Subject) -> None:
    """Weights are probabilities of what a token looks at: (B, H, T, T), causal, rows of sum 1."""
    for trial in trials(subject):
        module = _offering(trial, "weights")
        for words, position in positions(module):
            for tokens in LENGTHS:
                _check_probabilities(
                    _asked(trial, module, "weights", tokens, position, words), words
                )
            _check_dependence(trial, module, position, words)
        return


def scores(subject: Subject) -> None:
    """Scores are what the softmax makes weights of: −inf where a token may not look."""
    for trial in trials(subject):
        module = _offering(trial, "scores")
        for words, position in positions(module):
            for tokens in LENGTHS:
                found = _asked(trial, module, "scores", tokens, position, words)
                if bool((found == torch.inf).any()) or bool(found.isnan().any()):
                    raise CheckFailed(f"scores are not finite where a token may look{words}")
                if not hasattr(module, "weights"):
                    continue
                told = _asked(trial, module, "weights", tokens, position, words)
                if not torch.equal(found == -torch.inf, told == 0):
                    raise CheckFailed(
                        f"scores are −inf elsewhere than weights are 0{words}: mask both alike"
                    )
                if float((found.softmax(-1) - told).abs().max()) > ROUNDING:
                    raise CheckFailed(
                        f"the softmax of the scores is not the weights{words}: return the scores "
                        "scaled, biased and masked"
                    )
        return


def positions(module: Any) -> Iterator[tuple[str, Any]]:
    """No position, and stand-ins for those that act on queries, keys and scores."""
    yield "", None
    if getattr(module, "position_hooks", False):
        yield " with a rotating position", Rotating()
        yield " with a position bias", Biasing()


def given(position: Any) -> dict[str, Any]:
    """What an attention is handed beside x."""
    return {} if position is None else {"position": position}


def _offering(trial: Trial, method: str) -> Any:
    module = trial.module()
    if not hasattr(module, method):
        raise NotApplicable(f"it offers no {method}")
    return module


@torch.no_grad()
def _asked(
    trial: Trial, module: Any, method: str, tokens: int, position: Any, words: str
) -> Tensor:
    """What `weights` or `scores` return. Raises: CheckFailed unless it is (B, H, T, T)."""
    (x,) = trial.inputs(tokens)
    try:
        found = getattr(module, method)(x, **given(position))
    except Exception as error:
        raise CheckFailed(f"{method}{words} {raised(error)}") from error
    heads = trial.setting.sizes.dims.n_heads
    wanted = (len(x), heads, tokens, tokens)
    if not isinstance(found, Tensor) or found.shape != wanted:
        names = trial.names(tokens)
        got = names.shape(found.shape) if isinstance(found, Tensor) else type(found).__name__
        expected = names.wanted(("B", "H", "T", "T"), got)
        raise CheckFailed(f"{method}: expected {expected}, got {got}{words}")
    return found


def _check_probabilities(found: Tensor, words: str) -> None:
    if bool((found < 0).any()) or not bool(torch.isfinite(found).all()):
        raise CheckFailed(f"weights are not all finite and at least 0{words}")
    if float((found.sum(-1) - 1).abs().max()) > ROUNDING:
        raise CheckFailed(
            f"weights of a token do not sum to 1{words}: softmax over the last dimension"
        )
    if bool(found.triu(1).any()):
        raise CheckFailed(f"weights look at later tokens{words}: mask what lies above the diagonal")


def _check_dependence(trial: Trial, module: nn.Module, position: Any, words: str) -> None:
    """A token's output depends on those that it gives weight to, and on no others."""
    (x,) = trial.inputs(NAMED)
    x.requires_grad_()
    y: Tensor = module(x, **given(position))
    with torch.no_grad():
        largest = module.weights(x, **given(position)).amax(1)  # type: ignore[operator]  # (B, T, T)
    for token in range(NAMED):
        loss = (y[:, token] * normal(y[:, token].shape, "loss")).sum()
        (gradient,) = torch.autograd.grad(loss, x, retain_graph=True, materialize_grads=True)
        reached = gradient.abs().amax(-1)  # (B, T)
        reached = reached / reached.max().clamp_min(NOTHING)
        others = torch.arange(NAMED) != token  # itself it reaches through its query too
        seen = largest[:, token]
        if bool(((seen == 0) & (reached > NOTHING) & others).any()):
            raise CheckFailed(
                f"the output depends on tokens of weight 0{words}: weights must tell all that a "
                "token looks at"
            )
        if bool(((seen > SEEN) & (reached <= NOTHING) & others).any()):
            raise CheckFailed(
                f"the output does not depend on tokens that have weight{words}: weights must tell "
                "what the forward pass computes"
            )
