from __future__ import annotations

import pickle
import re
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from registry import ComponentSpec, Example, InvalidSpec


def spec(**fields: Any) -> ComponentSpec:
    return ComponentSpec(kind="norm", name="mine", target="a:B", **fields)


def test_an_example_is_frozen_and_keeps_copies() -> None:
    options = {"eps": 0.1}
    example = Example(options=options)
    options["eps"] = 0.2
    assert example == Example(options={"eps": 0.1}, expected_failures={})
    with pytest.raises(FrozenInstanceError):
        example.options = {}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Example(options=["eps"]),  # type: ignore[arg-type]
            "the options of an example are a mapping from names, not ['eps']",
        ),
        (
            lambda: Example(options={1: 2}),  # type: ignore[dict-item]
            "the options of an example are a mapping from names, not {1: 2}",
        ),
        (
            lambda: Example(expected_failures="causality"),  # type: ignore[arg-type]
            "the expected failures of an example are a mapping from names, not 'causality'",
        ),
        (
            lambda: Example(expected_failures={"causality": " "}),
            "the expected failure 'causality' of an example needs a reason, as text, not ' '",
        ),
        (
            lambda: Example(expected_failures={"causality": None}),  # type: ignore[dict-item]
            "the expected failure 'causality' of an example needs a reason, as text, not None",
        ),
        (
            lambda: spec(examples=[{"eps": 0.1}]),
            "the examples of norm 'mine' are a list of Example, not [{'eps': 0.1}]",
        ),
    ],
)
def test_what_an_example_may_not_say(make: Any, message: str) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        make()


def test_a_spec_with_examples_compares_hashes_and_travels_between_processes() -> None:
    one = spec(examples=[Example(options={"eps": [0.1]})])
    assert one.examples == (Example(options={"eps": [0.1]}),)
    assert one != spec()
    assert hash(one) == hash(replace(one))
    assert pickle.loads(pickle.dumps(one)) == one
