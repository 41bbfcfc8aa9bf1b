from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import (
    AmbiguousName,
    Incompatible,
    InvalidOptions,
    InvalidSpec,
    RegistryError,
    UnknownName,
)
from registry.errors import LONGEST, describe, nearest


@pytest.mark.parametrize(
    ("name", "known", "clause"),
    [
        (
            "layernrom",
            ["rmsnorm", "layernorm"],
            "did you mean 'layernorm'? known: layernorm, rmsnorm",
        ),
        ("RMSNorm", ["layernorm", "rmsnorm"], "did you mean 'rmsnorm'? known: layernorm, rmsnorm"),
        ("bt", ["BT"], "did you mean 'BT'? known: BT"),
        ("xyz", ["b", "a", "b"], "known: a, b"),
        ("xyz", [], "none is known"),
    ],
)
def test_nearest_names_the_closest_and_then_all(name: str, known: list[str], clause: str) -> None:
    assert nearest(name, known) == clause


NAMES = st.text(st.characters(categories=["Ll", "Lu", "Nd"]), min_size=1)


@given(NAMES, st.lists(NAMES, min_size=1))
def test_nearest_always_lists_every_known_name_sorted(name: str, known: list[str]) -> None:
    suggestion, _, listed = nearest(name, known).rpartition("known: ")
    assert listed.split(", ") == sorted(set(known))
    if suggestion:
        assert suggestion.removeprefix("did you mean ").removesuffix("? ").strip("'") in known
    if name in known:
        assert suggestion


@given(NAMES, st.permutations(["gelu", "GELU", "silu", "relu"]))
def test_nearest_does_not_depend_on_the_order_of_names(name: str, known: list[str]) -> None:
    assert nearest(name, known) == nearest(name, sorted(known))


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("two\n  lines\tof it"), "ValueError: two lines of it"),
        (SystemExit(), "SystemExit"),
        (SystemExit(3), "SystemExit: 3"),
        (InvalidSpec("said already"), "said already"),
        (Mute(), "Mute: (its message cannot be read)"),
        (ValueError("x" * (LONGEST + 1)), f"ValueError: {'x' * LONGEST} …"),
    ],
)
def test_an_exception_is_described_in_one_line(error: BaseException, line: str) -> None:
    assert describe(error) == line


def test_invalid_options_join_their_findings() -> None:
    error = InvalidOptions([("a", "a is wrong"), (None, "b is missing")])
    assert str(error) == "a is wrong; b is missing"
    assert error.findings == (("a", "a is wrong"), (None, "b is missing"))


@pytest.mark.parametrize(
    "error",
    [
        InvalidOptions([("a", "a is wrong"), (None, "b is missing")]),
        InvalidSpec("one"),
        Incompatible("two"),
        UnknownName("three"),
        AmbiguousName("four"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes(error: RegistryError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("cls", "family"),
    [
        (InvalidSpec, ValueError),
        (InvalidOptions, ValueError),
        (Incompatible, ValueError),
        (UnknownName, LookupError),
        (AmbiguousName, LookupError),
    ],
)
def test_errors_belong_to_the_families_of_mistakes(cls: type, family: type) -> None:
    assert issubclass(cls, RegistryError)
    assert issubclass(cls, family)
