from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen, MultipleOf

from registry import Dims
from registry.conformance.errors import CheckFailed
from registry.conformance.option_values import alternatives, required_values, same
from registry.options import signature_of


class Options:
    def __init__(
        self,
        dims: Dims,
        *,
        needed: Annotated[int, Gt(0)],
        unit: Annotated[float, Gt(0), Le(1)] = 1.0,
        large: Annotated[int, Ge(1000)] = 1000,
        between: Annotated[float, Gt(5), Lt(6)] = 5.5,
        even: Annotated[int, MultipleOf(2)] = 4,
        flag: bool = False,
        word: Literal["a", "b"] = "a",
        scale: Annotated[float, Gt(0)] | Literal["none"] | None = None,
        list_: list[int] = [1, 2],  # noqa: B006  # never changed
        some: Annotated[list[float], MinLen(1)] = [0.5],  # noqa: B006
        pair: tuple[int, str] = (1, "x"),
        point: tuple[int, float] = (1, 0.5),
        text: str = "free",
        anything: Any = None,
    ) -> None: ...


SIGNATURE = signature_of(Options, takes_dims=True)
VALUES = {option.name: option.default for option in SIGNATURE.options}


def other(name: str) -> list[Any]:
    return list(alternatives(SIGNATURE, name, VALUES[name]))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("unit", 0.5),
        ("large", 1001),
        ("even", 8),
        ("flag", True),
        ("word", "b"),
        ("scale", 0.5),
        ("list_", [2, 1]),
        ("some", [1.0]),
        ("point", (2, 1.0)),
    ],
)
def test_another_value_is_found(name: str, first: Any) -> None:
    assert other(name)[0] == first


def test_every_value_keeps_the_constraints_and_none_comes_twice() -> None:
    assert all(5 < value < 6 for value in other("between"))
    assert all(0 < value < 1 for value in other("unit"))
    assert all(value % 2 == 0 for value in other("even"))
    assert "none" in other("scale")
    for name in VALUES:
        found = other(name)
        assert VALUES[name] not in found
        assert all(not same(a, b) for i, a in enumerate(found) for b in found[:i])


@pytest.mark.parametrize("name", ["pair", "text", "anything"])
def test_of_free_text_no_other_value_is_known(name: str) -> None:
    assert other(name) == []


def test_required_options_are_found_unless_they_are_given() -> None:
    assert required_values(SIGNATURE, {}) == {"needed": 2}
    assert required_values(SIGNATURE, {"needed": 7}) == {}


def test_a_required_option_of_which_no_value_is_known_must_be_given() -> None:
    class Named:
        def __init__(self, dims: Dims, *, name: str) -> None: ...

    message = (
        "no value is known for the required option 'name' (text): name one in the examples of its "
        "ComponentSpec, or give options"
    )
    with pytest.raises(CheckFailed) as caught:
        required_values(signature_of(Named, takes_dims=True), {})
    assert str(caught.value) == message


def test_integers_numbers_and_truth_are_told_apart() -> None:
    assert same(1, 1)
    assert not same(1, 1.0)
    assert not same(1, True)
