"""A decoder of ours beside somebody else's implementation of the same model, weight by weight.

A model of theirs has random weights everywhere; a table says where each parameter of ours is found
in it. Since the table only moves numbers about, it moves gradients too.

Shapes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

import ablations

BATCH, TOKENS, VOCABULARY, CONTEXT, DEPTH = 2, 12, 97, 16, 2
LOGITS, GRADIENTS, DECODING = 2e-5, 1e-4, 1e-9
"""Relative tolerances: theirs computes norms, rotations and the softmax in float32."""

Tensors = Mapping[str, Tensor]
Source = str | tuple[str, ...] | Callable[[Tensors], Tensor]
"""Where a parameter of ours is: a name of theirs, several stacked, or worked out from theirs."""

SIZES = {"depth": DEPTH, "context": CONTEXT, "vocab_size": VOCABULARY, "d_model": 64, "n_heads": 4}


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """One model, built by them and described in the words of a grid.

    `weights` has an entry for each parameter of ours; `{i}` in it counts the blocks.
    """

    name: str
    theirs: Callable[[], nn.Module]
    model: Mapping[str, Any]
    weights: Mapping[str, Source]
    unused: frozenset[str] = field(default_factory=frozenset)
    """Parameters of theirs that take no part."""


def made(family: str, head: str = "ForCausalLM", **values: Any) -> nn.Module:
    """A model of that family, its configuration at these values and small else."""
    import transformers  # seconds, and most tests need none of it

    fixed = {
        "vocab_size": VOCABULARY,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "attn_implementation": "eager",
    }
    config = getattr(transformers, f"{family}Config")(**{**fixed, **values})
    model: nn.Module = getattr(transformers, f"{family}{head}")(config)
    return model


def tokens(seed: int = 0) -> Tensor:
    """Random token ids (B, T)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (BATCH, TOKENS), generator=generator)


def randomized(module: nn.Module) -> nn.Module:
    """In float64, in evaluation mode, every parameter drawn: matrices, norms and biases."""
    generator = torch.Generator().manual_seed(1)
    module = module.double().eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            is_norm = parameter.ndim == 1 and name.endswith("weight")
            parameter.copy_(1 + 0.3 * noise if is_norm else 0.15 * noise)
    return module


def ours_from(oracle: Oracle, theirs: nn.Module) -> ablations.Decoder:
    """Our decoder with their weights, none of them left as it was drawn."""
    decoder = ablations.build({**SIZES, **oracle.model}).double().eval()
    found = dict(moved(oracle.weights, dict(theirs.named_parameters())))
    assert set(found) == {name for name, _ in decoder.named_parameters()}
    decoder.load_state_dict(found, strict=False)  # a tied head is not named again
    return decoder


def moved(weights: Mapping[str, Source], tensors: Tensors) -> Iterator[tuple[str, Tensor]]:
    """Their tensors by our names."""
    for name, source in weights.items():
        if "{i}" not in name:
            yield name, _found(source, tensors)
            continue
        for i in range(DEPTH):
            own = {key.replace(f".{i}.", ".{i}.", 1): value for key, value in tensors.items()}
            yield name.replace("{i}", str(i)), _found(source, own)


def _found(source: Source, tensors: Tensors) -> Tensor:
    if isinstance(source, str):
        return tensors[source]
    if isinstance(source, tuple):
        return torch.cat([tensors[name] for name in source])
    return source(tensors)


def logits_of(module: nn.Module, ids: Tensor) -> Tensor:
    """Their logits (B, T, V), in one pass without a cache."""
    torch.set_default_dtype(torch.float64)  # some make their constants in the default type
    try:
        out = module(input_ids=ids, use_cache=False)
    finally:
        torch.set_default_dtype(torch.float32)
    return out if isinstance(out, Tensor) else out.logits


def relative(found: Tensor, expected: Tensor) -> float:
    """The largest difference, over the largest value."""
    return float((found - expected).detach().abs().max() / expected.detach().abs().max())


def assert_equal(oracle: Oracle) -> None:
    """Logits, the gradient of every parameter, and decoding with a cache."""
    theirs = randomized(oracle.theirs())
    ours, ids = ours_from(oracle, theirs), tokens()
    expected, found = logits_of(theirs, ids), ours(ids)
    assert relative(found, expected) < LOGITS
    probe = torch.randn(found.shape, generator=torch.Generator().manual_seed(2)).double()
    for logits in (expected, found):
        (logits * probe).sum().backward()
    assert_gradients(oracle, theirs, ours)
    with torch.no_grad():
        caches = ours.new_caches()
        chunks = [ours(chunk, caches=caches) for chunk in ids.split([1, 1, 4, 1, 5], dim=1)]
    assert relative(torch.cat(chunks, dim=1), found) < DECODING


def assert_gradients(oracle: Oracle, theirs: nn.Module, ours: nn.Module) -> None:
    """Each parameter's gradient, in the size of the largest of its own."""
    given = {name: p.grad for name, p in theirs.named_parameters() if p.grad is not None}
    assert {name for name, _ in theirs.named_parameters()} - set(given) == oracle.unused
    wrong = {
        name: error
        for name, expected in moved(oracle.weights, given)
        for own in [ours.get_parameter(name).grad]
        if own is not None
        for error in [relative(own, expected)]
        if not error < GRADIENTS
    }
    assert wrong == {}
    assert all(parameter.grad is not None for parameter in ours.parameters())


# Layouts of fused parameters


def transposed(name: str) -> Source:
    """A matrix that they keep as (in, out)."""
    return lambda tensors: tensors[name].T


def head_by_head(name: str, heads: int, parts: Sequence[int] = (1, 1, 1)) -> Source:
    """Rows of q, k and v that follow each other within each of so many groups of heads.

    `parts` says how many heads of each a group has.
    """

    def source(tensors: Tensors) -> Tensor:
        whole = tensors[name].unflatten(0, (heads, sum(parts), -1))  # (groups, heads of one, C, …)
        return torch.cat([part.flatten(0, 2) for part in whole.split(list(parts), dim=1)])

    return source


def half(name: str, which: int) -> Source:
    """The first or the second half of the rows."""
    return lambda tensors: tensors[name].chunk(2)[which]
