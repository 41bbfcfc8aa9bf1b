"""YAML to plain data with positions; what is refused, in whole messages."""

import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablations.grids.document import MAX_BYTES, GridError
from ablations.grids.parsing import parse, read, scalar


def message(text: str) -> str:
    """What `parse` says of a text that it refuses."""
    with pytest.raises(GridError) as caught:
        parse(text, "grid.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("1e-3", 0.001),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5E+3", -1500.0),
        ("12", 12),
        ("+3", 3),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("12:30", "12:30"),
        ("2001-01-01", "2001-01-01"),
        ("-.inf", -math.inf),
        (".inf", math.inf),
        ("1e", "1e"),
        ("٣", "٣"),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)
    assert math.isnan(scalar(".nan"))


def test_positions_are_of_keys_and_values_and_count_from_one() -> None:
    text = "# a comment\nname: x\nmodel:\n  norm: {rmsnorm: {eps: 1e-3}}\nseeds: [1,\n  2]\nnone:\n"
    document = parse(text)
    assert document.data == {
        "name": "x",
        "model": {"norm": {"rmsnorm": {"eps": 0.001}}},
        "seeds": [1, 2],
        "none": None,
    }
    assert document.keys["name",] == (2, 1)
    assert document.values["name",] == (2, 7)
    assert document.keys["model", "norm"] == (4, 3)
    assert document.values["model", "norm"] == (4, 9)
    assert document.keys["model", "norm", "rmsnorm"] == (4, 10)
    assert document.values["model", "norm", "rmsnorm", "eps"] == (4, 25)
    assert document.values["seeds", 1] == (6, 3)
    assert document.values["none",] == (7, 1), "an absent value is found at its key"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "grid.yaml: is empty; expected a mapping with name, factors and measures"),
        (
            "# nothing\n",
            "grid.yaml: is empty; expected a mapping with name, factors and measures",
        ),
        (
            "- a\n- b\n",
            "grid.yaml:1:1: expected a mapping with name, factors and measures, not a list",
        ),
        (
            "hello",
            "grid.yaml:1:1: expected a mapping with name, factors and measures, not 'hello'",
        ),
        ("a: !!int 3", "grid.yaml:1:4: tag '!!int' is not allowed: plain YAML only"),
        (
            "a: !!python/object:os.system {}",
            "grid.yaml:1:4: tag '!!python/object:os.system' is not allowed: plain YAML only",
        ),
        (
            "a: !x b\nc: !y [d]",
            "grid.yaml:1:4: tag '!x' is not allowed: plain YAML only\n"
            "grid.yaml:2:4: tag '!y' is not allowed: plain YAML only",
        ),
        ("a: ! b", "grid.yaml:1:4: tag '!' is not allowed: plain YAML only"),
        (
            "a: 1\nb: {c: 1, c: 2}\na: 3",
            "grid.yaml:2:11: b: duplicate key 'c', first given at 2:5\n"
            "grid.yaml:3:1: duplicate key 'a', first given at 1:1",
        ),
        ("a: &x [*x]", "grid.yaml:1:4: a[0]: an alias refers to what contains it"),
        (
            "a: *x",
            "grid.yaml:1:4: is not valid YAML: found undefined alias 'x'",
        ),
        ("a: 1\n---\nb: 2", "grid.yaml:2:1: a second document begins here; a grid file holds one"),
        ("a:\n\tb: 1", "grid.yaml:2:1: a tab cannot indent YAML: use spaces"),
        (
            "a: [1, 2\n",
            "grid.yaml:2:1: is not valid YAML: while parsing a flow sequence, expected ',' or ']', "
            "but got the end of the file",
        ),
        ("a: b: c", "grid.yaml:1:5: is not valid YAML: mapping values are not allowed here"),
        ("a: \x01", "grid.yaml:1:4: is not valid YAML: special characters are not allowed"),
        ('a: "\\ud800"', "grid.yaml:1:4: a: an escape names no character"),
        ('a: "\\U99999999"', "grid.yaml: is not valid YAML: an escape names no character"),
        (
            "# old\n%YAML 1.1\n---\na: yes",
            "grid.yaml:2:1: directives are not allowed: YAML 1.2 is understood",
        ),
        ("{a: 1}: b", "grid.yaml:1:1: a key is text, not a list or a mapping"),
        (f"a: {'9' * 30}", "grid.yaml:1:4: a: an integer has at most 64 bits"),
        (f"a: {'9' * 9000}", "grid.yaml:1:4: a: an integer has at most 64 bits"),
        (
            f"a: {'[' * 32}{']' * 32}",
            "grid.yaml:1:36: is nested deeper than 32 levels, the limit",
        ),
        (f"a: '{'x' * MAX_BYTES}'", "grid.yaml: is larger than 64 KiB, the limit"),
    ],
)
def test_what_is_refused(text: str, expected: str) -> None:
    if expected.startswith("grid.yaml:1:36"):
        text = text.replace("[]", "[1]")
    assert message(text) == expected


def test_depth_up_to_the_limit_is_read() -> None:
    assert parse(f"a: {'[' * 31}1{']' * 31}").data["a"]


def test_aliases_are_read_but_cannot_grow_without_bound() -> None:
    assert parse("a: &x {b: 1}\nc: *x").data == {"a": {"b": 1}, "c": {"b": 1}}
    laughs = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
    )
    assert message(laughs).endswith(": aliases expand to more than 50000 values")
    deep = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 40))
    assert "aliases nest deeper than 32 levels, the limit" in message(deep)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def refused(name: str) -> str:
        with pytest.raises(GridError) as caught:
            read(tmp_path / name)
        return str(caught.value).replace(f"{tmp_path}{os.sep}", "")

    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: caf\u00e9".encode("latin-1"))
    (tmp_path / "large.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
    (tmp_path / "utf16.yaml").write_bytes("a: 1".encode("utf-16"))
    (tmp_path / "marked.yaml").write_bytes(b"\xef\xbb\xbfa: 1")
    assert refused("absent.yaml") == "absent.yaml: no such file"
    assert refused("folder") == "folder: is a directory; expected a grid file"
    assert refused("latin.yaml") == "latin.yaml:2:7: is not UTF-8 text: byte 0xe9"
    assert refused("large.yaml") == "large.yaml: is larger than 64 KiB, the limit"
    assert refused("utf16.yaml") == "utf16.yaml:1:1: is not UTF-8 text: byte 0xff"
    assert refused("a\0b") == "a\\x00b: cannot be read: embedded null byte"
    assert read(tmp_path / "marked.yaml").data == {"a": 1}


@given(st.text(alphabet="ab:-[]{}&*!%#|>'\"\\ \n\t,?1.~\ufeff\u2028\x00\ud800", max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal: GridError | None = None
    try:
        parse(text)
    except GridError as error:
        refusal = error
    assert refusal is None or refusal.findings
