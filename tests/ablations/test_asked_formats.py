"""Formats as they are asked for, and what is said of those that cannot be had."""

import pytest

from ablations.asked_formats import asked_formats
from registry import MissingExtra
from registry.errors import UnknownName


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("html", ("html",)),
        ("csv,html", ("html", "csv")),
        ("latex, markdown,latex", ("markdown", "latex")),
    ],
)
def test_each_is_asked_for_once(text: str, formats: tuple[str, ...]) -> None:
    assert asked_formats(text) == formats


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "html,latx",
            "--format: there is no 'latx'; did you mean 'latex'? "
            "known: csv, html, latex, markdown, parquet",
        ),
        ("", "--format: there is no ''; known: csv, html, latex, markdown, parquet"),
        ("html,,csv", "--format: there is no ''; known: csv, html, latex, markdown, parquet"),
    ],
)
def test_one_that_there_is_not(text: str, message: str) -> None:
    with pytest.raises(UnknownName) as raised:
        asked_formats(text)
    assert str(raised.value) == message


def test_parquet_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ablations.asked_formats.find_spec", lambda name: None)
    with pytest.raises(MissingExtra) as raised:
        asked_formats("csv,parquet")
    assert str(raised.value) == (
        "--format parquet needs the package pyarrow: python -m pip install 'ablations[parquet]', "
        "or leave it out; nothing is written"
    )
    assert asked_formats("csv") == ("csv",)


def test_parquet_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ablations.asked_formats.find_spec", lambda name: object())
    assert asked_formats("parquet,html") == ("html", "parquet")
