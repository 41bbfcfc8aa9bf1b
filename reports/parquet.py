"""Tables as Parquet, for programs: columns keep their types, and NaN is no missing value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from reports.files import write_bytes


def write_parquet(tables: Mapping[str, pd.DataFrame], directory: Path) -> list[Path]:
    """Write each table as ``NAME.parquet``, each file at once; returns their paths.

    Args:
        tables: `reports.tables.run_tables` of a run.
        directory: The folder ``tables/``; made if it is not there.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
        CannotWrite: The folder cannot be written.
    """
    paths = []
    for name, table in tables.items():
        path = directory / f"{name}.parquet"
        write_bytes(path, parquet_bytes(table))
        paths.append(path)
    return paths


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """A table as a Parquet file: text, 64-bit integers and floats, and flags.

    A flag may be null, where it is not known; NaN and infinities are floats.
    """
    import pyarrow
    from pyarrow import parquet

    columns = {str(name): _array(table[name], pyarrow) for name in table.columns}
    buffer = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), buffer)
    return bytes(buffer.getvalue().to_pybytes())


def _array(column: "pd.Series", pyarrow: Any) -> Any:
    if types.is_bool_dtype(column):
        flags = [None if pd.isna(flag) else bool(flag) for flag in column]
        return pyarrow.array(flags, type=pyarrow.bool_())
    if types.is_integer_dtype(column):
        return pyarrow.array(column.to_numpy(dtype="int64"), type=pyarrow.int64())
    if types.is_numeric_dtype(column):
        # From an array, and not as pandas writes it, which makes NaN null.
        numbers = column.to_numpy(dtype="float64", na_value=float("nan"))
        return pyarrow.array(numbers, type=pyarrow.float64(), from_pandas=False)
    codes, texts = pd.factorize(column)  # a few distinct texts stand in many rows
    told = np.array([_text(one) for one in texts], dtype=object)
    return pyarrow.array(told[codes] if len(texts) else [], type=pyarrow.string())


def _text(value: object) -> str:
    """As it is; half a character, which no file may hold, is spelt out."""
    return str(value).encode("utf-8", errors="backslashreplace").decode("utf-8")
