"""Rows of a table, one by one."""

from collections.abc import Iterator
from typing import Any

import pandas as pd


def records(table: pd.DataFrame) -> Iterator[Any]:
    """Rows as named tuples, their label in the table as ``Index``.

    Typed loosely: no type checker can know the columns of a table.
    """
    yield from table.itertuples()
