"""The data of a figure, to be taken along."""

from base64 import b64decode

import pandas as pd
import pytest

from reports.plots.data import MAX_BYTES, FigureData, figure_data, file_name


def test_a_small_table_is_in_the_link() -> None:
    found = figure_data("effects on m.x", "tables/effects.csv", pd.DataFrame({"x": ["=1", "é"]}))
    assert (found.name, found.note) == ("effects-on-m.x", "")
    kind, _, content = found.csv.partition(",")
    assert kind == "data:text/csv;base64"
    assert b64decode(content).decode() == "x\n'=1\né\n"


@pytest.mark.parametrize("over", [0, 1])
def test_a_large_one_is_where_the_note_says(over: int) -> None:
    rows = pd.DataFrame({"x": ["y" * (MAX_BYTES - 3 + over)]})  # with a heading and two line ends
    found = figure_data("m.x", "tables/profiles.csv", rows)
    assert bool(found.csv) is not bool(over)
    assert found.note == ("What is drawn is from tables/profiles.csv." if over else "")


def test_what_is_no_table_has_no_link() -> None:
    told = "What is drawn is from the arrays in the run's results.sqlite."
    assert figure_data("a", "the arrays in the run's results.sqlite") == FigureData(
        name="a", csv="", note=told
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("effects on gradient_flow.embedding", "effects-on-gradient_flow.embedding"),
        ("../../etc/passwd", "etc-passwd"),
        ("中文", "figure"),
        ("", "figure"),
        ("a" * 200, "a" * 80),
        ('a"><b>\x00\u202e', "a-b"),
    ],
)
def test_a_file_s_name_is_safe(text: str, name: str) -> None:
    assert file_name(text) == name
