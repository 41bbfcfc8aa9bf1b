from __future__ import annotations

import pytest

from registry.conformance.size_names import SizeNames, tell

NAMES = SizeNames({"B": 5, "T": 7, "D": 60, "F": 88, "H": 6, "K": 2, "C": 4})


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (1, "1"),
        (5, "B"),
        (7, "T"),
        (24, "H·C"),
        (8, "K·C"),
        (72, "3·H·C"),
        (40, "(H+2·K)·C"),
        (28, "T·C"),
        (35, "B·T"),
        (3, "H/K"),
        (176, "2·F"),
        (9999, "9999"),
    ],
)
def test_a_size_has_a_name(size: int, name: str) -> None:
    assert NAMES.name(size) == name


def test_of_two_equal_sizes_the_first_name_is_told() -> None:
    names = SizeNames({"D": 24, "H": 6, "C": 4})
    assert names.name(24) == "D"
    assert SizeNames({"H": 6, "K": 6, "C": 4}).name(6) == "H"


def test_shapes_are_told_by_names() -> None:
    assert NAMES.shape((5, 7, 24)) == "(B, T, H·C)"
    assert NAMES.shape((88,)) == "(F,)"
    assert tell(["T", "T"]) == "(T, T)"


@pytest.mark.parametrize(
    ("wanted", "got", "told"),
    [
        ("B T D", "(B, T, 59)", "(B, T, D) = (5, 7, 60)"),
        ("B T D", "(59, T, D)", "(B, T, D) = (5, 7, 60)"),
        ("B H T 3·H·C", "(B, 59, T, T)", "(B, H, T, 3·H·C) = (5, 6, 7, 72)"),
        ("B T D", "(B, 1, D)", "(B, T, D)"),
        ("B T D", "(B, T, 3·H·C)", "(B, T, D)"),
        ("B T 9999", "(B, T, 59)", "(B, T, 9999) = (5, 7, 9999)"),
        ("B T (H+2·K)·C", "(B, T, 59)", "(B, T, (H+2·K)·C)"),
        ("B T D", "a tuple of 2", "(B, T, D)"),
    ],
)
def test_sizes_are_told_where_one_that_came_has_no_name(wanted: str, got: str, told: str) -> None:
    assert NAMES.wanted(wanted.split(), got) == told


def test_memory_is_laid_out_in_atoms() -> None:
    assert NAMES.factors((5, 7, 24)) == NAMES.factors((5, 7, 6, 4)) == ("B", "T", "H", "C")
    assert NAMES.factors((5, 1, 7)) == ("B", "T")
