from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import InvalidSpec
from registry.checks import (
    WORDS_OF_GRIDS,
    check_name,
    check_readable,
    check_text,
    check_word,
    reference_of,
    tuple_of,
)


class Here:
    """A target at module level."""


def local() -> type:
    class Local:
        pass

    return Local


@pytest.mark.parametrize(
    "name", ["", "Norm", "1st", "_own", "a-b", "a/b", "a\n", "<b>x</b>", "naïve", None, 3]
)
def test_names_are_lower_snake(name: Any) -> None:
    message = (
        "the name of a norm is lower_snake (letters a to z, digits, underscores, a letter "
        f"first), not {name!r}"
    )
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        check_name(name, "norm")


@given(st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True))
def test_every_lower_snake_name_but_a_word_of_grids_is_free(name: str) -> None:
    check_name(name, "norm")
    if name not in WORDS_OF_GRIDS:
        check_readable(name, "norm")


@pytest.mark.parametrize("name", ["layers", "true", "false", "null"])
def test_a_word_that_a_grid_reads_otherwise_is_no_name(name: str) -> None:
    message = f"'{name}' cannot name a norm: a grid reads it otherwise"
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        check_readable(name, "norm")


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("dyt", "'dyt'"),
        ("dyt:", "'dyt:'"),
        ("a..b:C", "'a..b:C'"),
        (".relative:C", "'.relative:C'"),
        ("dyt:C()", "'dyt:C()'"),
        (None, "None"),
        (local(), f"'{__name__}:local.<locals>.Local'"),
    ],
)
def test_a_target_must_be_importable_by_name(target: Any, shown: str) -> None:
    message = f"the target of 'here' is a class at module level or 'module:Class', not {shown}"
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        reference_of(target, "here")


def test_a_target_is_kept_by_its_name() -> None:
    assert reference_of(Here, "here") == f"{__name__}:Here"
    assert reference_of("my_package.norms:Outer.Inner", "here") == "my_package.norms:Outer.Inner"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_word("c", ("a", "b"), "mode"), "the mode is one of a, b, not 'c'"),
        (lambda: check_text("norm 'n'", summary=3), "the summary of norm 'n' is text, not 3"),
        (lambda: tuple_of(int, [1, "a"], "sizes"), "the sizes are a list of int, not [1, 'a']"),
        (lambda: tuple_of(str, "ab", "words"), "the words are a list of str, not 'ab'"),
    ],
)
def test_what_was_expected_and_what_came(check: Any, message: str) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        check()


def test_what_is_as_expected_passes() -> None:
    check_word("a", ("a", "b"), "mode")
    check_text("norm 'n'", summary="", source="arXiv:1607.06450")
    assert tuple_of(int, [1, 2], "sizes") == (1, 2)
