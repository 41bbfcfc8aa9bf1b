"""The one text of plain data."""

from __future__ import annotations

from ablations.models.canonical import canonical_json


def test_canonical_json_keeps_text_and_numbers_apart() -> None:
    assert (
        canonical_json({"b": "1", "a": [1, 1.0, True, None]}) == '{"a":[1,1.0,true,null],"b":"1"}'
    )
