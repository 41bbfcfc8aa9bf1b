"""Parquet that holds what the tables hold: types, NaN, infinities, and what is not known."""

import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.parquet import parquet_bytes, write_parquet
from reports.tables import run_tables
from tests.reports.simulated import default_run

pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")


def back(table: pd.DataFrame):  # type: ignore[no-untyped-def]
    from pyarrow import parquet

    return parquet.read_table(io.BytesIO(parquet_bytes(table)))


def test_columns_keep_their_types() -> None:
    table = pd.DataFrame(
        {
            "text": pd.Series(["=1", "'a", "é", "\ud800"], dtype=object),
            "kind": pd.Categorical(["a", "b", "a", "b"]),
            "count": [1, 2, 3, 2**53 + 1],
            "value": [math.nan, math.inf, -math.inf, 0.1],
            "flag": [True, False, True, False],
            "known": pd.array([True, False, pd.NA, True], dtype="boolean"),
        }
    )
    read = back(table)
    assert {f.name: str(f.type) for f in read.schema} == {
        "text": "string",
        "kind": "string",
        "count": "int64",
        "value": "double",
        "flag": "bool",
        "known": "bool",
    }
    assert read["text"].to_pylist() == ["=1", "'a", "é", "\\ud800"]  # no apostrophe is added
    assert read["kind"].to_pylist() == ["a", "b", "a", "b"]
    assert read["count"].to_pylist()[-1] == 2**53 + 1
    assert read["known"].to_pylist() == [True, False, None, True]
    value = read["value"]
    assert value.null_count == 0  # NaN is a value
    np.testing.assert_array_equal(value.to_numpy(), [math.nan, math.inf, -math.inf, 0.1])


def test_a_table_without_rows_has_its_columns() -> None:
    read = back(pd.DataFrame({"a": pd.Series([], dtype=object), "b": np.zeros(0)}))
    assert (read.column_names, read.num_rows) == (["a", "b"], 0)


def test_every_table_of_a_run_is_written_and_holds_its_rows(tmp_path: Path) -> None:
    from pyarrow import parquet

    tables = run_tables(default_run(seeds=2))
    paths = write_parquet(tables, tmp_path / "tables")
    assert [path.name for path in paths] == [f"{name}.parquet" for name in tables]
    for name, table in tables.items():
        read = parquet.read_table(tmp_path / "tables" / f"{name}.parquet")
        assert read.column_names == [str(column) for column in table.columns]
        assert read.num_rows == len(table)
    values = parquet.read_table(tmp_path / "tables" / "metrics.parquet")["value"].to_numpy()
    np.testing.assert_array_equal(values, tables["metrics"]["value"])
