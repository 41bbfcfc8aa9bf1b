"""Numbers and names as a person reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.wording import bounds, change, counted, distinct, listed, number, short, signed, span


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5290752.0, "5,290,752"), (1234.5, "1,234"), (0.0, "0"), (-0.0, "0"), (12.0, "12"),
        (0.01234, "0.0123"), (12.345, "12.3"), (0.9999, "1.00"), (-3.456, "−3.46"),
        (1.2e-7, "1.2·10⁻⁷"), (3e20, "3·10²⁰"), (float("nan"), "NaN"), (float("-inf"), "−∞"),
    ],
)  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(min_value=1e-3, max_value=999))
def test_number_keeps_three_digits(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=5.1e-3)


def test_changes_and_intervals() -> None:
    assert signed(82944) == "+82,944"
    assert change(2.1, "log") == "2.10 times"
    assert change(0.966, "log") == "−3.40\u00a0%"
    assert change(82944, "linear") == "+82,944"
    assert bounds(0.95, 0.98, "log") == "−5.00\u00a0% to −2.00\u00a0%"
    assert bounds(1.5, float("inf"), "log") == "1.50 to beyond all bounds"
    assert bounds(-1, 2, "linear") == "−1 to +2"
    assert bounds(1.01, 1.9, "log") == "1.01 to 1.90 times"


def test_an_estimate_and_its_interval_have_one_unit() -> None:
    assert change(1.132, "log", 1.01, 1.27) == "1.13 times"
    assert bounds(1.01, 1.27, "log", 1.132) == "1.01 to 1.27 times"
    assert bounds(1.05, 1.1, "log", 1.25) == "1.05 to 1.10 times"
    assert change(1.1, "log", 1.05, 1.15) == "+10.0\u00a0%"


def test_numbers_that_differ_are_written_differently() -> None:
    assert change(1.0502, "linear", 1.0498, 1.0507) == "+1.0502"
    assert bounds(1.0498, 1.0507, "linear", 1.0502) == "+1.0498 to +1.0507"
    assert bounds(123456.2, 123456.8, "linear") == "+123,456 to +123,457"
    assert bounds(1234.52, 1234.56, "linear") == "+1,234.5 to +1,234.6"
    assert bounds(4, 4, "linear", 4) == "+4 to +4"


def test_ends_of_ratios_beyond_a_thousandfold_are_told_as_such() -> None:
    assert bounds(1.43e-55, 7.05e54, "log", 1.0) == "under 0.001 to over 1,000 times"
    assert bounds(0.5, float("inf"), "log", 2.0) == "0.500 to over 1,000 times"
    assert bounds(0.0, 3.0, "log", 1.0) == "under 0.001 to 3 times"
    assert bounds(0.0011, 999.0, "log", 1.0) == "0.00110 to 999 times"
    assert change(1.0, "log", 1.43e-55, 7.05e54) == "1 times"
    # What was measured beyond is no lack of data, and a difference has no such end.
    assert bounds(4000.0, 6000.0, "log", 5000.0) == "4,000 to 6,000 times"
    assert bounds(-5e54, 7e54, "linear", 1.0) == "−5·10⁵⁴ to +7·10⁵⁴"
    assert span(0.0001, 5000.0, "log") == "from 1·10⁻⁴ to 5,000 times"


LONG = "gqa(n_kv_heads=2, qk_norm={}, window=256, dropout=0.0)"


def test_names_that_are_short_alike_keep_what_differs() -> None:
    names = ["mha", LONG.format("true"), LONG.format("false")]
    told = distinct(names)
    assert told["mha"] == "mha"
    assert "qk_norm=true" in told[names[1]]
    assert "qk_norm=false" in told[names[2]]
    assert distinct(["x" * 50 + "a", "x" * 50 + "b"])["x" * 50 + "a"].endswith("a")


@given(st.lists(st.text("ab(,=", max_size=60), max_size=6, unique=True))
def test_levels_are_always_told_apart(names: list[str]) -> None:
    assert len(set(distinct(names).values())) == len(set(names))


def test_ranges() -> None:
    assert span(0.5, 2.2, "log") == "from 0.500 to 2.20 times"
    assert span(0.95, 1.05, "log") == "from −5.00\u00a0% to +5.00\u00a0%"
    assert span(-1, 2, "linear") == "from −1 to +2"
    assert span(0, float("inf"), "log") == "from 0 to beyond all bounds"


def test_names() -> None:
    assert counted(1, "pair") == "1 pair"
    assert counted(1200, "pair") == "1,200 pairs"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh")) == "a, b, c, d, e and 3 more"
    assert short("a\nb  c") == "a b c"
    assert len(short("x" * 200)) == 40


@given(st.text(max_size=300), st.integers(5, 60))
def test_short_is_one_line_and_short(text: str, limit: int) -> None:
    assert len(short(text, limit)) <= limit
    assert len(short(text, limit).splitlines()) <= 1


def test_names_without_marks_keep_where_they_differ() -> None:
    names = [f"very_long_{'level_' * 14}{which}_{'name_' * 14}" for which in ("first", "second")]
    for limit in (24, 38, 40):
        told = distinct(names, limit)
        assert [len(text) <= limit for text in told.values()] == [True, True]
        assert len(set(told.values())) == 2
        assert "first"[:3] in told[names[0]]
        assert "second"[:3] in told[names[1]]
