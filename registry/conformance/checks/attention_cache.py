"""Whether an attention decodes with its cache what a full pass gives, and what the cache holds.

Shapes: B batch, T tokens, D d_model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.checks.attention_weights import given, positions
from registry.conformance.checks.comparing import near
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.holding import bytes_held
from registry.conformance.raising import raised
from registry.conformance.subject import Subject
from registry.conformance.trials import Trial, trials
from registry.contracts import Cache
from registry.errors import Incompatible

TOKENS = 9
CHUNKS = {"token by token": (1,) * TOKENS, "in chunks of 4, 1, 1 and 3": (4, 1, 1, 3)}


@torch.no_grad()
def cache(subject: Subject) -> None:
    """Decoding with a cache gives what the full pass gives; length and bytes are true."""
    trial = trials(subject)[0]
    module: Any = trial.module()
    if not hasattr(module, "new_cache"):
        raise NotApplicable("it offers no cache")
    (x,) = trial.inputs(TOKENS)
    for words, position in positions(module):
        (full,) = trial.run(module, (x,)) if position is None else (module(x, position=position),)
        for how, chunks in CHUNKS.items():
            held = _new_cache(module)
            parts = []
            for part in torch.split(x, list(chunks), dim=1):
                parts.append(_step(trial, module, part, held, position, f"{how}{words}"))
                _check_counts(held, module, sum(part.shape[1] for part in parts), f"{how}{words}")
            if not near([full], [torch.cat(parts, 1)]):
                raise CheckFailed(
                    f"decoding with a cache, {how}{words}, gives other outputs than the full pass: "
                    "compare the positions, the mask and what is kept"
                )
        if not near([full], [module(x, **given(position))]):
            raise CheckFailed(
                f"decoding changed what a pass without a cache gives{words}: keep the past in the "
                "cache alone"
            )
    _check_apart(trial, module, x)


def _new_cache(module: Any) -> Any:
    try:
        held = module.new_cache()
    except Incompatible as error:
        raise NotApplicable(f"it offers no cache with these options: {error}") from error
    except Exception as error:
        raise CheckFailed(f"new_cache {raised(error)}") from error
    if not isinstance(held, Cache):
        raise CheckFailed("new_cache must return a cache with the properties length and nbytes")
    if held.length != 0:
        raise CheckFailed(f"a new cache has seen 0 tokens, but its length is {held.length!r:.40}")
    return held


def _step(
    trial: Trial, module: nn.Module, part: Tensor, held: Any, position: Any, words: str
) -> Tensor:
    try:
        y = module(part, cache=held, **given(position))
    except Exception as error:
        raise CheckFailed(f"decoding with a cache, {words}, {raised(error)}") from error
    if not isinstance(y, Tensor) or y.shape != part.shape:
        names = trial.names(part.shape[1])
        got = names.shape(y.shape) if isinstance(y, Tensor) else type(y).__name__
        wanted = names.wanted(("B", "T", "D"), got)
        raise CheckFailed(f"decoding with a cache, {words}: expected {wanted}, got {got}")
    return y


def _check_counts(held: Any, module: nn.Module, tokens: int, words: str) -> None:
    if held.length != tokens:
        raise CheckFailed(
            f"after {tokens} tokens, {words}, the cache's length is {held.length}: count every "
            "token that it has seen"
        )
    others = [*module.parameters(), *module.buffers()]
    held_bytes = bytes_held(held, others)
    if held.nbytes != held_bytes:
        raise CheckFailed(
            f"after {tokens} tokens, {words}, nbytes is {held.nbytes} but the cache holds "
            f"{held_bytes}: count whole storages, and clone a slice to hold less"
        )


def _check_apart(trial: Trial, module: nn.Module, x: Tensor) -> None:
    """Two sequences decoded in turns do not meet."""
    (full,) = trial.run(module, (x,))
    one, other = _new_cache(module), _new_cache(module)
    first = module(x[:, :4], cache=one)
    module(x.flip(1), cache=other)
    if not near([full], [torch.cat((first, module(x[:, 4:], cache=one)), 1)]):
        raise CheckFailed(
            "two sequences decoded in turns disturb each other: keep the past in the cache alone"
        )
