"""Options of a component, read from its constructor and checked before anything is built."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from registry.errors import InvalidOptions, InvalidSpec, describe, nearest
from registry.spec import Kind, Option, plain
from registry.spelling import spell

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A constructor as the engine sees it: the makers it asks for and its options."""

    owner: str
    makers: tuple[str, ...]
    options: tuple[Option, ...]
    annotations: Mapping[str, Any]

    @cached_property
    def adapters(self) -> Mapping[str, TypeAdapter[Any]]:
        """What checks the values of each option; made once, when a value is first checked.

        Raises: InvalidSpec for an annotation that nothing written in a grid could satisfy.
        """
        from pydantic import ConfigDict, TypeAdapter

        config = ConfigDict(strict=True, allow_inf_nan=False)
        adapters: dict[str, TypeAdapter[Any]] = {}
        for option in self.options:
            try:
                adapters[option.name] = TypeAdapter(self.annotations[option.name], config=config)
            except Exception as error:
                raise InvalidSpec(
                    f"option {option.name!r} of {self.owner} has type {option.type}, which cannot "
                    "be checked: options are numbers, text, true or false, null, and lists and "
                    "mappings of them"
                ) from error
        return adapters


@cache
def signature_of(target: type, *, takes_dims: bool) -> Signature:
    """Read the constructor of a component (`takes_dims`), a measure or an executor.

    Raises: InvalidSpec for `*args`, `**kwargs`, an option without an annotation, an annotation
    that does not resolve, or a positional parameter that names no kind.
    """
    name = f"{target.__module__}.{target.__qualname__}"
    constructor: Any = target.__init__  # type: ignore[misc]  # read, never called
    own = constructor is not object.__init__
    parameters = list(inspect.signature(constructor).parameters.values())[1:] if own else []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InvalidSpec(
                f"the constructor of {name} takes {str(parameter).partition(':')[0]}, so that a "
                f"misspelt option would pass unseen: write {_form(takes_dims)}"
            )
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if takes_dims and not positional:
        raise InvalidSpec(
            f"the constructor of {name} does not take dims: write {_form(takes_dims)}"
        )
    makers = tuple(parameter.name for parameter in positional[takes_dims:])
    for maker in makers:
        if not takes_dims or maker not in list(Kind):
            kinds = f", or a kind: {', '.join(Kind)}" if takes_dims else ""
            raise InvalidSpec(
                f"parameter {maker!r} of {name} must be a keyword-only option, after '*'{kinds}"
            )
    try:
        annotations = typing.get_type_hints(constructor, include_extras=True)
    except Exception as error:
        raise InvalidSpec(
            f"an annotation of {name} does not resolve at run time: {describe(error)}"
        ) from error
    options = tuple(
        _option(parameter, annotations, name)
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY
    )
    return Signature(owner=name, makers=makers, options=options, annotations=annotations)


def _form(takes_dims: bool) -> str:
    dims = "dims, " if takes_dims else ""
    return f"__init__(self, {dims}*, option: type = default)"


def _option(parameter: inspect.Parameter, annotations: Mapping[str, Any], owner: str) -> Option:
    if parameter.name not in annotations:
        raise InvalidSpec(f"option {parameter.name!r} of {owner} has no annotation")
    required = parameter.default is parameter.empty
    return Option(
        name=parameter.name,
        type=spell(annotations[parameter.name]),
        default=None if required else parameter.default,
        required=required,
    )


def check_options(owner: str, signature: Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of `owner`, the given ones checked, the others at their default.

    Types are strict: a boolean is no integer, text is no number. An integer may stand for a
    number, and a list for a tuple; the values returned have the types of the annotations.

    Raises: InvalidOptions, with every fault found; InvalidSpec for a default that the option
    would not accept, or a type that cannot be checked.
    """
    known = {option.name: option for option in signature.options}
    findings: list[tuple[str | None, str]] = []
    values: dict[str, Any] = {}
    for name in given:
        if name not in known:
            hint = nearest(name, known) if known else "it has none"
            findings.append((name, f"{owner} has no option {name!r}; {hint}"))
    for name, option in known.items():
        adapter = signature.adapters[name]
        if name in given:
            try:
                values[name] = _checked(adapter, given[name])
            except ValueError:
                value = _shown(given[name])
                findings.append(
                    (name, f"option {name!r} of {owner} must be {option.type}, not {value}")
                )
        elif option.required:
            findings.append((None, f"{owner} needs option {name!r} ({option.type})"))
        else:
            try:
                values[name] = _checked(adapter, option.default)
            except ValueError:
                raise InvalidSpec(
                    f"option {name!r} of {signature.owner} must be {option.type}, but its default "
                    f"is {_shown(option.default)}"
                ) from None
    if findings:
        raise InvalidOptions(findings)
    return values


def _checked(adapter: TypeAdapter[Any], value: Any) -> Any:
    """The value in the annotated type. Raises: ValueError.

    It is read as JSON, where one kind of list serves lists and tuples alike.
    """
    try:
        checked = adapter.validate_json(json.dumps(value))
    except Exception as error:  # a constraint that does not apply to a value may fail in any way
        raise ValueError from error
    if not _agree(value, checked):
        raise ValueError
    return checked


def _agree(given: Any, checked: Any) -> bool:
    """Whether checking changed no more than integer to number and list to tuple.

    A literal 1 would accept true, and a number too large for a float would become infinity.
    """
    if isinstance(given, (list, tuple)):
        return (
            isinstance(checked, (list, tuple))
            and len(given) == len(checked)
            and all(map(_agree, given, checked))
        )
    if isinstance(given, Mapping):
        return (
            isinstance(checked, Mapping)
            and given.keys() == checked.keys()
            and all(_agree(given[key], checked[key]) for key in given)
        )
    if isinstance(given, bool) or isinstance(checked, bool):
        return given is checked
    return bool(given == checked) or (given != given and checked != checked)  # both not a number


def _shown(value: object) -> str:
    """A refused value, not too long; text in quotes, so that `'2'` is told from 2."""
    return f"{value!r:.80}" if isinstance(value, str) else f"{plain(value):.80}"
