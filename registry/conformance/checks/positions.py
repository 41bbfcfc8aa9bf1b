"""What the hooks of a position promise: any numbers of heads, any place in a sequence.

Shapes: B batch, T tokens (Tq queries, Tk keys), D d_model, H heads, K key/value heads, C head_dim.
"""

from __future__ import annotations

import difflib
from typing import Any

import torch
from torch import Tensor, nn

from registry.conformance.calls import HOOKS
from registry.conformance.checks.comparing import near, same_bits
from registry.conformance.errors import CheckFailed, NotApplicable
from registry.conformance.raising import raised
from registry.conformance.random_values import normal
from registry.conformance.sizes import NAMED
from registry.conformance.subject import Subject
from registry.conformance.trials import trials

KNOWN = (*HOOKS, "calibrate", "per_layer")
FULL, OFFSET, CHUNK = 12, 5, 4
HEADS = ((6, 2), (4, 4), (5, 1), (1, 1))
"""Numbers of query and of key/value heads."""
LENGTHS = ((1, 1), (NAMED, NAMED), (1, 9), (3, 9))
"""Numbers of queries and of keys that end where they do."""


def hooks(subject: Subject) -> str:
    """Says with `per_layer` and its hooks what it does; one added to the embedding is for all."""
    module = subject.module(subject.settings[0])
    per_layer = getattr(module, "per_layer", False)
    if not isinstance(per_layer, bool):
        raise CheckFailed(f"per_layer must be True or False, not {per_layer!r:.40}")
    found = [hook for hook in HOOKS if hasattr(module, hook)]
    for name in _own_names(subject.cls):
        close = difflib.get_close_matches(name, KNOWN, n=1, cutoff=0.8)
        if close and name not in KNOWN:
            raise CheckFailed(f"{name!r} is no hook of a position; did you mean {close[0]!r}?")
    if per_layer and "embed" in found:
        raise CheckFailed(
            "per_layer is True, but what embed adds to the embedding must be the same in every "
            "block: leave per_layer out"
        )
    return f"hooks: {', '.join(found) or 'none'}"


@torch.no_grad()
def offsets(subject: Subject) -> None:
    """Tokens at positions 5 to 8 alone get what they get in a longer pass, as decoding needs."""
    for trial in trials(subject):
        module, full = trial.module(), trial.inputs(FULL)
        outputs = trial.run(module, full, tokens=FULL)
        dims = [[n for n, name in enumerate(s) if name == "T"] for s in trial.call.outputs]
        part = [
            x.narrow(dim, OFFSET, CHUNK) for x, dim in zip(full, trial.token_dims(), strict=True)
        ]
        alone = trial.run(module, part, tokens=CHUNK, start=OFFSET)
        expected = []
        for y, tokens in zip(outputs, dims, strict=True):
            for dim in tokens:
                y = y.narrow(dim, OFFSET, CHUNK)
            expected.append(y)
        if not near(expected, alone):
            raise CheckFailed(
                f"tokens at positions {OFFSET} to {OFFSET + CHUNK - 1} alone get other values than "
                f"in a pass of {FULL}{trial.words}: go by the positions that are given"
            )


@torch.no_grad()
def head_counts(subject: Subject) -> None:
    """Rotates, and biases, any numbers of heads, and queries fewer than keys."""
    setting = subject.settings[0]
    module: Any = subject.module(setting)
    dims = setting.sizes.dims
    acts = [hook for hook in ("rotate", "bias") if hasattr(module, hook)]
    if not acts:
        raise NotApplicable("it acts on neither queries and keys nor scores")
    for n_heads, n_kv_heads in HEADS:
        if "rotate" in acts:
            q = normal((2, n_heads, NAMED, dims.head_dim), "q")
            k = normal((2, n_kv_heads, NAMED, dims.head_dim), "k")
            got = _asked(module, "rotate", q, k, torch.arange(NAMED))
            _expect("rotate", got, (q, k), f"{n_heads} query and {n_kv_heads} key/value heads")
        if "bias" in acts:
            for queries, keys in LENGTHS:
                places = torch.arange(keys)
                got = _asked(module, "bias", n_heads, places[keys - queries :], places)
                wanted = torch.empty(n_heads, queries, keys)
                words = f"{n_heads} heads, {queries} queries and {keys} keys"
                _expect("bias", (got,), (wanted,), words)
                if not bool(torch.isfinite(got).all()):
                    raise CheckFailed(f"bias is not finite for {words}: the mask is attention's")


@torch.no_grad()
def calibrate(subject: Subject) -> None:
    """Can be told the size of the embeddings, twice the same, and stays finite."""
    for trial in trials(subject):
        module: Any = trial.module()
        if not hasattr(module, "calibrate"):
            raise NotApplicable("it is not calibrated")
        inputs, outputs = trial.inputs(NAMED), []
        for rms in (0.02, 0.02, 0.0):
            _asked(module, "calibrate", rms)
            outputs.append(trial.run(module, inputs))
        if not same_bits(outputs[0], outputs[1]):
            raise CheckFailed(
                "calibrating twice with one size gives another output: set, do not multiply"
            )
        if not all(bool(torch.isfinite(y).all()) for y in outputs[2]):
            raise CheckFailed("the output is not finite once calibrated with size 0")


def _own_names(cls: type) -> list[str]:
    """What a class and its parents below torch's define, but for private names."""
    parents = [parent for parent in cls.__mro__ if parent not in nn.Module.__mro__]
    return sorted({name for parent in parents for name in vars(parent) if name[0] != "_"})


def _asked(module: nn.Module, hook: str, *arguments: Any) -> Any:
    try:
        return getattr(module, hook)(*arguments)
    except Exception as error:
        raise CheckFailed(f"{hook} {raised(error)}") from error


def _expect(hook: str, got: Any, wanted: tuple[Tensor, ...], words: str) -> None:
    parts = got if isinstance(got, tuple) else (got,)
    if [getattr(part, "shape", None) for part in parts] != [part.shape for part in wanted]:
        shapes = [" × ".join(map(str, getattr(part, "shape", ("no tensor",)))) for part in parts]
        expected = [" × ".join(map(str, part.shape)) for part in wanted]
        raise CheckFailed(
            f"{hook} for {words}: expected {' and '.join(expected)}, got {' and '.join(shapes)}"
        )
