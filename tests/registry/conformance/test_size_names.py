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


def test_memory_is_laid_out_in_atoms() -> None:
    assert NAMES.factors((5, 7, 24)) == NAMES.factors((5, 7, 6, 4)) == ("B", "T", "H", "C")
    assert NAMES.factors((5, 1, 7)) == ("B", "T")
