"""Findings and their places; mappings copied to plain data and written as YAML."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablations.grids.document import (
    MAX_BYTES,
    Document,
    Fault,
    Finding,
    GridError,
    dump,
    from_mapping,
    show,
    spell,
)
from ablations.grids.parsing import parse


def test_a_finding_stands_at_its_key_its_value_or_the_nearest_that_has_a_place() -> None:
    document = parse("model:\n  depth: 0\n", "grid.yaml")
    error = document.error(
        [
            Fault(("model", "depth"), "value"),
            Fault(("model", "depth"), "key", on_key=True),
            Fault(("model", "norm", 3, "a b"), "absent"),
            Fault((), "whole"),
            Fault((), "whole"),
        ]
    )
    assert str(error).splitlines() == [
        "grid.yaml:1:1: model.norm[3].'a b': absent",
        "grid.yaml:1:1: whole",
        "grid.yaml:2:3: model.depth: key",
        "grid.yaml:2:10: model.depth: value",
    ]


def test_without_a_text_a_finding_names_only_its_path() -> None:
    error = Document(data={}).error([Fault(("model", "depth"), "is odd")])
    assert str(error) == "model.depth: is odd"
    assert error.findings == (Finding("is odd", None, None, "model.depth"),)


def test_an_error_survives_pickling() -> None:
    error = GridError([Finding("a", 1, 2, "b"), Finding("c")], "grid.yaml")
    copy = pickle.loads(pickle.dumps(error))
    assert copy.findings == error.findings
    assert str(copy) == "grid.yaml:1:2: b: a\ngrid.yaml: c"


def test_a_mapping_is_copied_to_plain_data() -> None:
    given = {"a": (1, 2.5), "b": {"c": None}, "yes": "yes", "n": "1e-3"}
    document = from_mapping(given)
    assert document.data == {"a": [1, 2.5], "b": {"c": None}, "yes": "yes", "n": "1e-3"}
    assert parse(document.text).data == document.data
    loop: dict[str, object] = {}
    loop["x"] = loop
    with pytest.raises(GridError) as caught:
        from_mapping({"a": {1: 2}, "b": object(), "c": 2**70, "d": loop, "e": "\ud800"})
    assert str(caught.value).splitlines() == [
        "a: a key is text, not 1",
        "b: expected plain data (text, number, true, false, null, list, mapping), not object",
        "c: an integer has at most 64 bits",
        "d: is nested deeper than 32 levels, the limit",
        "e: a lone surrogate is no character",
    ]
    with pytest.raises(GridError, match=r"^is larger than 64 KiB, the limit$"):
        from_mapping({"a": "x" * MAX_BYTES})


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), PLAIN, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_back(data: dict[str, object]) -> None:
    assert parse(dump(data)).data == data


def test_values_and_paths_in_messages_stay_on_one_short_line() -> None:
    assert spell(("factors", "attention.n_kv_heads", 2)) == "factors.attention.n_kv_heads[2]"
    assert spell(("a", "b\nc")) == "a.'b\\nc'"
    assert [show(v) for v in (None, True, [], {}, [1], {"a": 1}, "x", 1e-5)] == [
        "null",
        "true",
        "an empty list",
        "an empty mapping",
        "a list of 1",
        "a mapping of 1",
        "'x'",
        "1e-05",
    ]
    assert show("x" * 1000) == f"'{'x' * 59}… (1002 characters)"
