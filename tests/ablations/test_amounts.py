"""Amounts of memory, read and told."""

from __future__ import annotations

import re

import pytest

from ablations.amounts import in_words, read_amount


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("4 GiB", 2**32),
        ("4GiB", 2**32),
        ("1.5 KiB", 1536),
        ("500 MB", 500_000_000),
        ("2 TB", 2 * 10**12),
        (1, 1),
        (2**40, 2**40),
    ],
)
def test_amounts_are_read(written: int | str, size: int) -> None:
    assert read_amount(written) == size


@pytest.mark.parametrize(
    "written", ["4", "4 gib", "GiB", "-1 GiB", "0 GiB", "1e3 MB", "4  GiB", "4 GiB\n", "", 0, -1]
)
def test_what_is_no_amount_is_refused(written: int | str) -> None:
    words = re.escape(f"expected an amount of memory, not {written!r}")
    with pytest.raises(ValueError, match=f"^{words}$"):
        read_amount(written)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "0.977 KiB"),
        (2**32, "4 GiB"),
        (int(4.312 * 2**30), "4.31 GiB"),
        (2**50, "1,024 TiB"),
    ],
)
def test_amounts_are_told_to_three_digits(size: int, words: str) -> None:
    assert in_words(size) == words
