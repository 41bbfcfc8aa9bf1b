"""Types of options in the words of somebody who writes YAML: `int > 0`, `text or null`."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from registry.spec import plain

WORDS: Mapping[Any, str] = {
    Any: "anything",
    bool: "true or false",
    dict: "mapping",
    float: "number",
    list: "list",
    str: "text",
    tuple: "list",
    type(None): "null",
    Mapping: "mapping",
    Sequence: "list",
}
BOUNDS = {
    "gt": "> {}",
    "ge": "≥ {}",
    "lt": "< {}",
    "le": "≤ {}",
    "multiple_of": "a multiple of {}",
    "min_length": "at least {} long",
    "max_length": "at most {} long",
}


def spell(annotation: Any) -> str:
    """An annotation in words: `int > 0`, `one of none, per_head`, `list of number`."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        base, *metadata = arguments
        constraints = " and ".join(_constraints(metadata))
        return f"{spell(base)} {constraints}".rstrip()
    if origin is typing.Literal:
        values = ", ".join(map(plain, arguments))
        return values if len(arguments) == 1 else f"one of {values}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(spell, arguments))
    if origin is tuple and Ellipsis not in arguments:
        inner = ", ".join(map(spell, arguments))
        return f"list of {len(arguments)}: {inner}" if inner else "empty list"
    if origin is not None:
        return f"{spell(origin)} of {' to '.join(spell(p) for p in arguments if p is not Ellipsis)}"
    for known, word in WORDS.items():
        if annotation is known:
            return word
    return str(getattr(annotation, "__name__", annotation))


def _constraints(metadata: Sequence[Any]) -> Iterator[str]:
    """Bounds in the vocabulary of `annotated_types`, which pydantic's `Field` holds too."""
    for item in metadata:
        for attribute, words in BOUNDS.items():
            bound = getattr(item, attribute, None)
            if bound is not None:
                yield words.format(bound)
        nested = getattr(item, "metadata", ())
        if isinstance(nested, (list, tuple)):
            yield from _constraints(nested)
