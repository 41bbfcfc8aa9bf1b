"""JSON documents that are written piece by piece are those that are written at once."""

from __future__ import annotations

import json

import pytest

from ablations import answers
from ablations.answers import Listed, as_json_pieces, as_json_text


@pytest.mark.parametrize("piece", [1, 7, 10_000])
@pytest.mark.parametrize(
    "lists", [([], []), ([{"a": 1, "b": "x\u202ey"}], []), (list(range(50)), [["a", None], []])]
)
def test_the_pieces_are_the_text(
    lists: tuple[list[object], list[object]], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PIECE", piece)
    one, other = lists
    document = {"cells": 3, "one": one, "inside": {"other": other}, "last": 0.5}
    lazy = document | {"one": Listed(one), "inside": {"other": Listed(iter(other))}}
    pieces = list(as_json_pieces(lazy))
    assert "".join(pieces) == as_json_text(document)
    assert json.loads("".join(pieces)) == document


def test_no_more_is_made_than_is_written() -> None:
    made = []

    def items() -> object:
        for number in range(100_000):
            made.append(number)
            yield number

    pieces = as_json_pieces({"items": Listed(items())})  # type: ignore[arg-type]
    assert len(made) == 1
    next(pieces)
    assert len(made) <= answers.PIECE
