"""Tables as CSV that no spreadsheet runs, piece by piece: a table may have millions of rows."""

import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

# A spreadsheet runs a cell that starts like this, also after blanks and in full width; a plain
# number only looks like it. A text that begins with an apostrophe gets another one, so that taking
# one away gives every text back.
_RUNS = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r']")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)

_QUOTED = re.compile(r'[",\n]')
_ROWS = 1 << 16
"""Of a piece."""

Coded = tuple[NDArray[np.intp], list[str]]
"""Of each row the place of its text among the distinct ones; these."""


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV that no spreadsheet runs, with lines ended by ``\\n``."""
    return "".join(csv_pieces(table))


def csv_pieces(table: pd.DataFrame) -> Iterator[str]:
    """`csv_text` in pieces, one after the other."""
    yield ",".join(_written(str(name)) for name in table.columns) + "\n"
    for start in range(0, len(table), _ROWS):
        yield _lines(table.iloc[start : start + _ROWS])


def _lines(rows: pd.DataFrame) -> str:
    """Columns of few distinct texts are taken together, so that a row is put together of few."""
    parts: list[Iterable[str]] = []
    coded: Coded | None = None
    last = len(rows.columns) - 1
    for place, name in enumerate(rows.columns):
        end = "\n" if place == last else ","
        column = rows[name]
        if types.is_float_dtype(column):
            if coded is not None:
                parts.append(_of_rows(coded))
            coded = None
            parts += [_numbers(column), repeat(end, len(rows))]
            continue
        codes, texts = _coded(column)
        here = codes, [f"{text}{end}" for text in texts]
        both = here if coded is None else _together(coded, here)
        if both is None:
            parts.append(_of_rows(coded))  # type: ignore[arg-type]  # else they are together
            both = here
        coded = both
    if coded is not None:
        parts.append(_of_rows(coded))
    return "".join(map("".join, zip(*parts, strict=True)))


def _numbers(column: "pd.Series[float]") -> list[str]:
    """With all their digits; NaN for what is not there."""
    if column.dtype == np.float64:
        texts = list(map(repr, column.tolist()))
        for place in np.flatnonzero(np.isnan(column.to_numpy())):
            texts[place] = "NaN"
        return texts
    return ["NaN" if pd.isna(value) else str(value) for value in column]


def _coded(column: "pd.Series[Any]") -> Coded:
    """Flags are ``true``, ``false`` or nothing; texts are made safe."""
    codes, found = pd.factorize(column, use_na_sentinel=False)
    if types.is_bool_dtype(column):
        return codes, ["" if pd.isna(value) else str(bool(value)).lower() for value in found]
    if types.is_numeric_dtype(column):
        return codes, ["NaN" if pd.isna(value) else str(value) for value in found]
    return codes, [_written(str(text)) for text in found]


def _together(first: Coded, second: Coded) -> Coded | None:
    """Two neighbouring columns as one, or None where nearly every row had its own text."""
    n_second = len(second[1])
    codes, pairs = pd.factorize(first[0] * n_second + second[0])
    if 4 * len(pairs) > len(codes):
        return None
    texts = [first[1][i] + second[1][k] for i, k in zip(*divmod(pairs, n_second), strict=True)]
    return codes, texts


def _of_rows(coded: Coded) -> list[str]:
    codes, texts = coded
    found: list[str] = np.array(texts, dtype=object)[codes].tolist()
    return found


def _written(text: str) -> str:
    """A text so that no spreadsheet runs it, in quotes where it needs them."""
    runs = _RUNS.match(text) and not _PLAIN_NUMBER.fullmatch(text)
    # A bare carriage return would end the line for many a reader.
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    safe = f"'{lines}" if runs else lines
    return '"{}"'.format(safe.replace('"', '""')) if _QUOTED.search(safe) else safe
