"""Which checks a component of each kind must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from registry.conformance.checks.attention_cache import cache
from registry.conformance.checks.attention_neighbours import (
    attention_dropout,
    head_dim,
    position_hooks,
)
from registry.conformance.checks.attention_weights import scores, weights
from registry.conformance.checks.causality import causality, mixes_tokens, prefix
from registry.conformance.checks.construction import builds, constructor, meta_device, parts, roles
from registry.conformance.checks.copies import copies, state_dict
from registry.conformance.checks.finiteness import finite, precision
from registry.conformance.checks.gradients import derivative, parameter_gradients
from registry.conformance.checks.independence import batch_independence, per_token
from registry.conformance.checks.initializers import fills, initializer_copies, own_generator
from registry.conformance.checks.options import options
from registry.conformance.checks.outputs import dtype, leading_dimensions, shape
from registry.conformance.checks.placements import final_norm, init_gain, mixing
from registry.conformance.checks.positions import calibrate, head_counts, hooks, offsets
from registry.conformance.checks.purity import (
    determinism,
    global_random_state,
    input_unchanged,
    training_mode,
)
from registry.conformance.checks.residuals import uses_both
from registry.conformance.subject import Subject
from registry.spec import Kind

EVERY = tuple(Kind)
MODULES = tuple(kind for kind in Kind if kind is not Kind.INITIALIZER)
MIXERS = (Kind.ATTENTION, Kind.PLACEMENT)
TOKENWISE = (Kind.NORM, Kind.ACTIVATION, Kind.FEED_FORWARD, Kind.RESIDUAL)
ATTENTION = (Kind.ATTENTION,)
POSITION = (Kind.POSITION,)
PLACEMENT = (Kind.PLACEMENT,)
INITIALIZER = (Kind.INITIALIZER,)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check by its name; where a `foundation` fails, what is built on it is not looked at.

    A `comparing` check looks at what differs between passes, so `determinism` must hold first.
    """

    name: str
    function: Callable[[Subject], str | None]
    kinds: tuple[Kind, ...]
    foundation: bool = False
    comparing: bool = False

    @property
    def summary(self) -> str:
        """The contract in one sentence."""
        return (self.function.__doc__ or "").partition("\n")[0]


def _check(
    function: Callable[[Subject], str | None],
    kinds: tuple[Kind, ...],
    *,
    name: str = "",
    foundation: bool = False,
    comparing: bool = False,
) -> Check:
    return Check(
        name=name or function.__name__,
        function=function,
        kinds=kinds,
        foundation=foundation,
        comparing=comparing,
    )


CHECKS = (
    _check(constructor, EVERY, foundation=True),
    _check(builds, EVERY, foundation=True),
    _check(meta_device, MODULES),
    _check(roles, MODULES),
    _check(shape, MODULES, foundation=True),
    _check(fills, INITIALIZER, foundation=True),
    _check(dtype, MODULES),
    _check(input_unchanged, MODULES),
    _check(global_random_state, MODULES),
    _check(determinism, MODULES),
    _check(own_generator, INITIALIZER),
    _check(precision, (Kind.NORM,), comparing=True),
    _check(leading_dimensions, (Kind.ACTIVATION,), comparing=True),
    _check(causality, MODULES),
    _check(prefix, MIXERS, comparing=True),
    _check(mixes_tokens, ATTENTION),
    _check(batch_independence, MODULES, comparing=True),
    _check(per_token, TOKENWISE, comparing=True),
    _check(finite, MODULES),
    _check(parameter_gradients, MODULES),
    _check(derivative, MODULES, comparing=True),
    _check(training_mode, MODULES, comparing=True),
    _check(state_dict, MODULES, comparing=True),
    _check(copies, MODULES, comparing=True),
    _check(initializer_copies, INITIALIZER, name="copies"),
    _check(options, EVERY, comparing=True),
    _check(parts, (Kind.FEED_FORWARD, Kind.ATTENTION, Kind.PLACEMENT)),
    _check(head_dim, ATTENTION, comparing=True),
    _check(weights, ATTENTION),
    _check(scores, ATTENTION),
    _check(cache, ATTENTION, comparing=True),
    _check(position_hooks, ATTENTION, comparing=True),
    _check(attention_dropout, ATTENTION, comparing=True),
    _check(hooks, POSITION),
    _check(offsets, POSITION, comparing=True),
    _check(head_counts, POSITION),
    _check(calibrate, POSITION, comparing=True),
    _check(uses_both, (Kind.RESIDUAL,)),
    _check(final_norm, PLACEMENT),
    _check(mixing, PLACEMENT),
    _check(init_gain, PLACEMENT),
)


def checks_of(kind: Kind) -> tuple[Check, ...]:
    """The checks of one kind, in the order in which they run."""
    return tuple(check for check in CHECKS if kind in check.kinds)
