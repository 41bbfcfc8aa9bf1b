"""Values that an option would take, found from its annotation."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from registry.conformance.errors import CheckFailed
from registry.errors import InvalidOptions
from registry.options import Signature, check_options
from registry.spec import plain

INTEGERS = (2, 1, 3, 4, 6, 8, 16, 0, -1)
NUMBERS = (0.5, 0.1, 0.25, 0.9, 1.0, 2.0, 10.0, 0.01, 100.0, 0.0, -1.0)
BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "min_length")


def required_values(signature: Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each option that has no default and is not given.

    Raises: CheckFailed when an annotation suggests none.
    """
    found: dict[str, Any] = {}
    for option in signature.options:
        if not option.required or option.name in given:
            continue
        values = _accepted(signature, option.name, suggestions(signature.annotations[option.name]))
        try:
            found[option.name] = next(iter(values))
        except StopIteration:
            raise CheckFailed(
                f"no value is known for the required option {option.name!r} ({option.type}): name "
                "one in the examples of its ComponentSpec, or give options"
            ) from None
    return found


def alternatives(
    signature: Signature, name: str, current: Any, *, at_most: int = 12
) -> Iterator[Any]:
    """Other values that an option accepts than its current one."""
    values = _accepted(signature, name, suggestions(signature.annotations[name], current))
    different = (value for value in values if not same(value, current))
    return islice(_unique(different), at_most)


def same(one: Any, other: Any) -> bool:
    """Whether two values of an option are the same; 1, 1.0 and true are three."""
    return plain(one) == plain(other) and type(one) is type(other)


def suggestions(annotation: Any, current: Any = None) -> Iterator[Any]:
    """Values of that type, likely ones first; not every one need keep its constraints."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from suggestions(arguments[0], current)
        yield from _near_bounds(arguments[1:])
    elif origin is typing.Literal:
        yield from arguments
    elif origin in (typing.Union, types.UnionType):
        for part in arguments:
            yield from suggestions(part, current)
    elif annotation is bool:
        yield from (True, False)
    elif annotation is int:
        if isinstance(current, int):
            yield from (current + 1, current - 1, 2 * current, current // 2)
        yield from INTEGERS
    elif annotation is float:
        if isinstance(current, (int, float)):
            yield from (current * 2.0, current / 2.0, current + 0.1)
        yield from NUMBERS
    elif annotation is type(None) or annotation is None:
        yield None
    elif origin is tuple and Ellipsis not in arguments:
        yield from _tuples(arguments, current)
    elif origin in (list, tuple, Sequence):
        yield from _lists(arguments[0], current)


def _accepted(signature: Signature, name: str, values: Iterable[Any]) -> Iterator[Any]:
    """Those values that the option's type and constraints allow, as the constructor gets them."""
    alone = Signature(
        owner=signature.owner,
        makers=(),
        options=tuple(option for option in signature.options if option.name == name),
        annotations=signature.annotations,
    )
    for value in values:
        try:
            yield check_options(signature.owner, alone, {name: value})[name]
        except InvalidOptions:
            continue


def _near_bounds(metadata: Iterable[Any]) -> Iterator[Any]:
    """Values around the constraints: at a bound, beside it, and halfway between two."""
    bounds = []
    for item in metadata:
        for name in BOUNDS:
            bound = getattr(item, name, None)
            if isinstance(bound, (int, float)):
                bounds.append(bound)
        nested = getattr(item, "metadata", None)
        if isinstance(nested, (list, tuple)):
            yield from _near_bounds(nested)
    if len(bounds) > 1:
        yield sum(bounds) / len(bounds)
    for bound in bounds:
        yield from (bound, bound + 1, bound - 1, 2 * bound, 1.5 * bound)


def _tuples(types_: Sequence[Any], current: Any) -> Iterator[tuple[Any, ...]]:
    held = list(current) if isinstance(current, (list, tuple)) else [None] * len(types_)
    choices = [list(islice(suggestions(*pair), 4)) for pair in zip(types_, held, strict=False)]
    if all(choices):
        yield from zip(*(values * 4 for values in choices), strict=False)


def _lists(type_: Any, current: Any) -> Iterator[list[Any]]:
    held = list(current) if isinstance(current, (list, tuple)) else []
    if held:
        yield held[::-1]
        yield held[:-1]
    for value in islice(suggestions(type_, held[0] if held else None), 4):
        yield [value]
        yield [value] * max(len(held), 2)


def _unique(values: Iterable[Any]) -> Iterator[Any]:
    seen: list[Any] = []
    for value in values:
        if not any(same(value, other) for other in seen):
            seen.append(value)
            yield value
