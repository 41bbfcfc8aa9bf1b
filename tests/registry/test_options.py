from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Len, Predicate
from hypothesis import given
from hypothesis import strategies as st

from registry import InvalidOptions, InvalidSpec
from registry.options import check_options, signature_of

HERE = __name__
FORM = (
    "so that a misspelt option would pass unseen: write __init__(self, {}*, option: type = default)"
)


def signature_with(annotation: Any, **default: Any) -> Any:
    """The signature of a measure whose one option `x` has that annotation."""

    class Local:
        def __init__(self, *, x: Any) -> None: ...

    Local.__init__.__annotations__ = {"x": annotation}
    if default:
        Local.__init__.__kwdefaults__ = {"x": default["default"]}
    Local.__qualname__ = "Local"
    return signature_of(Local, takes_dims=False)


def checked(annotation: Any, value: Any) -> Any:
    return check_options("norm 'n'", signature_with(annotation), {"x": value})["x"]


class Block:
    def __init__(
        self,
        dims: object,
        norm: object,
        attention: object,
        *,
        eps: Annotated[float, Gt(0)] = 1e-5,
        width: int,
        style: Literal["a", "b"] | None = None,
    ) -> None: ...


def test_makers_and_options_are_read_from_the_constructor() -> None:
    signature = signature_of(Block, takes_dims=True)
    assert signature.makers == ("norm", "attention")
    assert [(o.name, o.type, o.default, o.required) for o in signature.options] == [
        ("eps", "number > 0", 1e-5, False),
        ("width", "int", None, True),
        ("style", "one of a, b or null", None, False),
    ]


class Bare:
    """Without a constructor."""


def test_a_measure_needs_no_constructor() -> None:
    signature = signature_of(Bare, takes_dims=False)
    assert (signature.makers, signature.options) == ((), ())
    assert check_options("measure 'bare'", signature, {}) == {}


class Args:
    def __init__(self, dims: object, *args: int) -> None: ...


class Kwargs:
    def __init__(self, dims: object, *, eps: float = 1.0, **kwargs: float) -> None: ...


class Unannotated:
    def __init__(self, dims: object, *, eps=1.0) -> None: ...  # type: ignore[no-untyped-def]


class Unresolvable:
    def __init__(self, dims: object, *, eps: Nowhere = 1.0) -> None: ...  # type: ignore[name-defined] # noqa: F821


class Maker:
    def __init__(self, norm: object) -> None: ...


class NoKind:
    def __init__(self, dims: object, eps: float = 1.0) -> None: ...


KINDS = "norm, activation, feed_forward, attention, position, residual, placement, initializer"


@pytest.mark.parametrize(
    ("cls", "takes_dims", "message"),
    [
        (Args, True, f"the constructor of {HERE}.Args takes *args, {FORM.format('dims, ')}"),
        (Kwargs, True, f"the constructor of {HERE}.Kwargs takes **kwargs, {FORM.format('dims, ')}"),
        (Kwargs, False, f"the constructor of {HERE}.Kwargs takes **kwargs, {FORM.format('')}"),
        (Unannotated, True, f"option 'eps' of {HERE}.Unannotated has no annotation"),
        (
            Unresolvable,
            True,
            f"an annotation of {HERE}.Unresolvable does not resolve at run time: "
            "NameError: name 'Nowhere' is not defined",
        ),
        (
            NoKind,
            True,
            f"parameter 'eps' of {HERE}.NoKind must be a keyword-only option, after '*', or a "
            f"kind: {KINDS}",
        ),
        (
            NoKind,
            False,
            f"parameter 'dims' of {HERE}.NoKind must be a keyword-only option, after '*'",
        ),
        (
            Maker,
            False,
            f"parameter 'norm' of {HERE}.Maker must be a keyword-only option, after '*'",
        ),
        (
            Bare,
            True,
            f"the constructor of {HERE}.Bare does not take dims: "
            "write __init__(self, dims, *, option: type = default)",
        ),
    ],
)
def test_a_constructor_that_breaks_the_contract(cls: type, takes_dims: bool, message: str) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        signature_of(cls, takes_dims=takes_dims)


ACCEPTED: list[tuple[Any, Any, Any]] = [
    (int, 2, 2),
    (float, 2, 2.0),
    (float, 0.5, 0.5),
    (bool, True, True),
    (str, "2", "2"),
    (list[int], [1, 2], [1, 2]),
    (list[int], (1, 2), [1, 2]),
    (tuple[float, ...], [1, 2.5], (1.0, 2.5)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (list[tuple[int, int]], [[1, 2]], [(1, 2)]),
    (dict[str, float], {"a": 1}, {"a": 1.0}),
    (Literal["a", 2, None, True], True, True),
    (Annotated[int, Gt(0)] | None, None, None),
    (Annotated[float, Gt(0)] | Literal["none"] | None, "none", "none"),
    (Annotated[float, Ge(0), Le(1)], 1, 1.0),
]


@pytest.mark.parametrize(("annotation", "value", "result"), ACCEPTED)
def test_a_value_of_the_type_is_taken_in_that_type(
    annotation: Any, value: Any, result: Any
) -> None:
    found = checked(annotation, value)
    assert repr(found) == repr(result)  # repr tells 1 from 1.0 and True, and a list from a tuple


REFUSED: list[tuple[Any, Any, str, str]] = [
    (int, True, "int", "true"),
    (int, 2.0, "int", "2.0"),
    (int, "2", "int", "'2'"),
    (int, None, "int", "null"),
    (float, False, "number", "false"),
    (float, "1e-5", "number", "'1e-5'"),
    (float, float("inf"), "number", "inf"),
    (float, float("nan"), "number", "nan"),
    (float, 10**400, "number", f"{10**400:d}"[:80]),
    (bool, 1, "true or false", "1"),
    (bool, "yes", "true or false", "'yes'"),
    (str, 5, "text", "5"),
    (list[int], 1, "list of int", "1"),
    (list[int], [1, True], "list of int", "[1, true]"),
    (tuple[int, str], [1], "list of 2: int, text", "[1]"),
    (dict[str, int], {1: 2}, "mapping of text to int", "{1: 2}"),
    (Literal["a", "b"], "c", "one of a, b", "'c'"),
    (Literal[1, 2], True, "one of 1, 2", "true"),
    (Annotated[int, Gt(0)], 0, "int > 0", "0"),
    (Annotated[float, Gt(0)], float("nan"), "number > 0", "nan"),
    (Annotated[int, Gt(0)] | None, -1, "int > 0 or null", "-1"),
    (Annotated[list[int], Len(1, 2)], [], "list of int at least 1 long and at most 2 long", "[]"),
    (float, {1.5}, "number", "{1.5}"),
]


@pytest.mark.parametrize(("annotation", "value", "type_", "shown"), REFUSED)
def test_a_value_of_another_type_is_refused(
    annotation: Any, value: Any, type_: str, shown: str
) -> None:
    message = f"option 'x' of norm 'n' must be {type_}, not {shown}"
    with pytest.raises(InvalidOptions, match=f"^{re.escape(message)}$"):
        checked(annotation, value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
PLAIN = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)
TYPED: Mapping[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**53), 2**53).map(float),
    bool: st.booleans(),
    str: st.text(st.characters(codec="utf-8")),
    list[int]: st.lists(st.integers()),
    dict[str, list[bool]]: st.dictionaries(st.text(max_size=3), st.lists(st.booleans())),
    Literal["a", 2, False]: st.sampled_from(["a", 2, False]),
}


@given(st.sampled_from(list(TYPED)).flatmap(lambda t: st.tuples(st.just(t), TYPED[t])))
def test_a_value_of_the_type_comes_back_as_it_was(typed: tuple[Any, Any]) -> None:
    annotation, value = typed
    assert repr(checked(annotation, value)) == repr(value)


@given(st.sampled_from(list(TYPED)), PLAIN)
def test_a_value_is_kept_or_refused_and_checking_twice_changes_nothing(
    annotation: Any, value: Any
) -> None:
    try:
        once = checked(annotation, value)
    except InvalidOptions:
        return
    assert once == value
    assert isinstance(once, bool) == isinstance(value, bool)
    assert repr(checked(annotation, once)) == repr(once)


def test_every_fault_is_found_at_once() -> None:
    signature = signature_of(Block, takes_dims=True)
    with pytest.raises(InvalidOptions) as caught:
        check_options("placement 'block'", signature, {"epz": 1, "style": "c", "zzz": 2})
    assert caught.value.findings == (
        (
            "epz",
            "placement 'block' has no option 'epz'; did you mean 'eps'? known: eps, style, width",
        ),
        ("zzz", "placement 'block' has no option 'zzz'; known: eps, style, width"),
        (None, "placement 'block' needs option 'width' (int)"),
        ("style", "option 'style' of placement 'block' must be one of a, b or null, not 'c'"),
    )


def test_an_option_of_a_component_that_has_none() -> None:
    message = "norm 'n' has no option 'eps'; it has none"
    with pytest.raises(InvalidOptions, match=f"^{re.escape(message)}$"):
        check_options("norm 'n'", signature_of(Bare, takes_dims=False), {"eps": 1})


def test_options_left_out_are_at_their_defaults_in_the_annotated_type() -> None:
    values = check_options("norm 'n'", signature_of(Block, takes_dims=True), {"width": 3})
    assert values == {"eps": 1e-5, "width": 3, "style": None}
    # 1 for a number is 1.0, given or not: else one model would be two cells.
    default = check_options("norm 'n'", signature_with(float, default=1), {})
    assert repr(default) == repr({"x": checked(float, 1)})


def test_a_default_that_the_option_would_refuse_is_the_plugins_fault() -> None:
    message = f"option 'x' of {HERE}.Local must be int, but its default is null"
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        check_options("norm 'n'", signature_with(int, default=None), {})


@pytest.mark.parametrize(("annotation", "type_"), [(Bare, "Bare"), (Block | None, "Block or null")])
def test_a_type_that_no_grid_could_write(annotation: Any, type_: str) -> None:
    message = (
        f"option 'x' of {HERE}.Local has type {type_}, which cannot be checked: options are "
        "numbers, text, true or false, null, and lists and mappings of them"
    )
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        checked(annotation, 1)


def test_a_constraint_that_fails_on_a_value_refuses_that_value() -> None:
    def positive(value: Any) -> Any:
        return value > 0

    annotation = Annotated[int | str, Predicate(positive)]
    assert checked(annotation, 2) == 2
    message = "option 'x' of norm 'n' must be int or text, not 'a'"
    with pytest.raises(InvalidOptions, match=f"^{re.escape(message)}$"):
        checked(annotation, "a")


def test_a_signature_is_read_once() -> None:
    assert signature_of(Block, takes_dims=True) is signature_of(Block, takes_dims=True)
    signature = signature_of(Block, takes_dims=True)
    assert signature.adapters is signature.adapters
