"""What a terminal is given: nothing hidden, nothing that acts, one bounded line where asked."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablations.printable import json_safe, line, lines, printable

ACTS = "\x1b[31m\x00\x07\r\x7f\x9b\u202e\u2066\u200b\ufeff\U000e0041\ud800"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é ≥ 中 שלום 🎉", "plain é ≥ 中 שלום 🎉"),
        ("👩\u200d🔬", "👩\u200d🔬"),  # written with a joiner
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\rb", "a\\rb"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("half \ud800", "half \\ud800"),
        ("two\n\tlines", "two\n\tlines"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_spelt_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(alphabet=st.characters()))
def test_nothing_is_left_that_controls_or_cannot_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert not {c for c in shown if unicodedata.category(c) == "Cc"} - {"\n", "\t"}
    bidi = {unicodedata.bidirectional(c) for c in shown}
    assert not bidi & {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_json_document_keeps_its_value(value: object) -> None:
    text = json_safe(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert printable(text) == text


def test_characters_that_act_are_escapes_of_json() -> None:
    assert json.loads(json_safe(json.dumps(ACTS, ensure_ascii=False))) == ACTS
    json_safe(json.dumps(ACTS, ensure_ascii=False)).encode("utf-8")


def test_a_line_is_one_and_bounded() -> None:
    assert line("a\nb\u2028c\td") == "a\\nb\\u2028c\\td"
    short = line("x" * 100 + "y" * 100, 50)
    assert short == f"{'x' * 20} … {'y' * 10} (200 characters)"
    assert line(short, 50) == short


def test_many_findings_are_counted() -> None:
    assert lines("a\nb\nc\nd", most=2) == "a\nb\n… and 2 more"
    assert lines("a\nb", most=2) == "a\nb"
