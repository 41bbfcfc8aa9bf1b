"""When two choices, blocks or architectures build the same, in whatever words they were asked."""

from __future__ import annotations

from dataclasses import fields

from ablations.architecture import Architecture, BlockChoices
from ablations.models.canonical import canonical_json, plain
from ablations.models.model import PER_BLOCK
from registry.options import signature_of
from registry.spec import Choice


def same_choice(one: Choice | None, other: Choice | None) -> bool:
    """Whether two choices build the same, whoever wrote their options."""
    if one is None or other is None:
        return one is other
    return one is other or (
        one.target == other.target
        and canonical_json(plain(one.options)) == canonical_json(plain(other.options))
    )


def same_block(one: BlockChoices, other: BlockChoices) -> bool:
    """Whether two blocks are built alike, whoever wrote their options."""
    return one is other or (
        one.d_ff == other.d_ff
        and all(same_choice(getattr(one, kind), getattr(other, kind)) for kind in PER_BLOCK)
    )


def same_model(one: Architecture, other: Architecture) -> bool:
    """Whether two architectures describe the same decoder, in whatever words.

    A component that no other one asks for is no difference.
    """
    return (
        all(
            getattr(one, name) == getattr(other, name)
            for name in (field.name for field in fields(Architecture))
            if name not in ("layers", "initializer", "embedding_norm", "d_ff_rule", "final_norm")
        )
        and _final_norm(one) == _final_norm(other)
        and same_choice(one.initializer, other.initializer)
        and same_choice(one.embedding_norm, other.embedding_norm)
        and one.depth == other.depth
        and all(map(_same_in_use, one.layers, other.layers))
    )


def _final_norm(architecture: Architecture) -> bool | None:
    """Whether a norm follows the last block; None where only the built placement can tell."""
    if architecture.final_norm is not None:
        return architecture.final_norm
    asked = getattr(architecture.layers[-1].placement.load(), "final_norm", None)
    return asked if isinstance(asked, bool) else None


def _same_in_use(one: BlockChoices, other: BlockChoices) -> bool:
    return same_block(one, other) or (
        one.d_ff == other.d_ff
        and (used := _used(one)) == _used(other)
        and all(same_choice(getattr(one, kind), getattr(other, kind)) for kind in used)
    )


def _used(block: BlockChoices) -> frozenset[str]:
    """The kinds that are built: the placement's, what those ask for, and what the decoder adds."""
    used: set[str] = set()
    waiting = ["placement", "position", "norm"]
    while waiting:
        kind = waiting.pop()
        if kind not in used and kind in PER_BLOCK:
            used.add(kind)
            choice: Choice = getattr(block, kind)
            waiting += signature_of(choice.load(), takes_dims=True).makers
    return frozenset(used)
