"""Amounts of memory as a person writes them: `4 GiB`, or a number of bytes."""

from __future__ import annotations

import re

UNITS = {
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip

FORM = rf"([0-9]{{1,9}}(?:\.[0-9]{{1,6}})?) ?({'|'.join(UNITS)})"

WORDS = "an amount of memory such as 4 GiB or 500 MB, an integer of bytes > 0, or null"


def read_amount(value: int | str) -> int:
    """Bytes. Raises: ValueError for what is no amount, or none."""
    size = value if isinstance(value, int) else 0
    if isinstance(value, str) and (found := re.fullmatch(FORM, value)):
        size = int(float(found[1]) * UNITS[found[2]])
    if size < 1:
        raise ValueError(f"expected an amount of memory, not {value!r}")
    return size


def in_words(size: int) -> str:
    """`4.31 GiB`: bytes as a person reads them, to three digits."""
    if size == 1:
        return "1 byte"
    value = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:,.4g} TiB"
