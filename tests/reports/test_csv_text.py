"""CSV that no spreadsheet runs, the same as a slow writer's."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from reports.csv_text import csv_pieces, csv_text
from tests.reports.simulated import make_frames


def slowly(table: pd.DataFrame) -> str:
    """The same of texts that need no apostrophe."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(table.columns)
    for row in table.itertuples(index=False):
        rows.writerow(["NaN" if isinstance(v, float) and np.isnan(v) else v for v in row])
    return written.getvalue()


def test_values_that_are_no_numbers_stay_themselves() -> None:
    frames = make_frames({"norm": ["a"]}, {"x": [[np.nan, np.inf, -np.inf, 0.1]]})
    rows = list(csv.DictReader(io.StringIO(csv_text(frames.metrics))))
    assert [row["value"] for row in rows] == ["NaN", "inf", "-inf", "0.1"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"), ("\r=1", "'\n=1"), ("a\r\nb\rc", "a\nb\nc"),
        ("\uff1d1+1", "'\uff1d1+1"), (" =1", "' =1"), ("\n@x", "'\n@x"), ("'=1", "''=1"),
        ("-0.5", "-0.5"), ("+1e-3", "+1e-3"), ("-inf", "-inf"), ("a=b", "a=b"), ("", ""),
    ],
)  # fmt: skip
def test_no_spreadsheet_runs_a_cell(text: str, written: str) -> None:
    table = pd.DataFrame({text: [text], "n": [-1.5]})
    rows = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert rows == [[written, "n"], [written, "-1.5"]]


@pytest.mark.parametrize("rows", [0, 1, 5, 64, 65, 1000])
def test_the_same_as_a_slow_writer(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.csv_text._ROWS", 64)
    rng = np.random.default_rng(0)
    number = np.exp(40 * rng.normal(size=rows)) * rng.choice([-1, 1], size=rows)
    number[::7] = np.nan
    texts = ["a", "b, c", 'said "d"', "two\nlines", ""]
    table = pd.DataFrame(
        {
            "cell": pd.Categorical(rng.choice(texts, size=rows), categories=texts),
            "seed": np.arange(rows) % 5,
            "own": [f"row {i}" for i in range(rows)],
            "value": number,
            "small": rng.integers(-3, 3, size=rows).astype(np.int8),
            "again": np.round(number, 3),
            "name": rng.choice(texts, size=rows),
        }
    ).astype({"own": "str"})
    table.index = pd.Index(rng.permutation(rows))  # which is written nowhere
    assert csv_text(table) == slowly(table)
    assert csv_text(table[["value"]]) == slowly(table[["value"]])
    assert len(list(csv_pieces(table))) == 1 + -(-rows // 64)


def test_flags_are_words_and_unknown_ones_nothing() -> None:
    table = pd.DataFrame(
        {
            "known": [True, False, True],
            "asked": pd.array([True, pd.NA, False], dtype="boolean"),
            "count": pd.array([1, pd.NA, 3], dtype="Int64"),
            "share": pd.array([0.5, pd.NA, 1.0], dtype="Float64"),
        }
    )
    assert csv_text(table).splitlines() == [
        "known,asked,count,share", "true,true,1,0.5", "false,,NaN,NaN", "true,false,3,1.0",
    ]  # fmt: skip


def test_a_large_table_is_never_one_text() -> None:
    table = pd.DataFrame({"n": np.arange(300_000), "value": 0.5})
    sizes = [len(piece) for piece in csv_pieces(table)]
    assert sizes[0] == len("n,value\n")
    assert max(sizes) < sum(sizes) / 4
