"""What was seen of a block, as rows and as plain data."""

import json

from ablations.blocks import NOT_YET, Call, View, Wiring, as_document, block_rows, from_document

SHORT = (Call(part="norm", inputs=(0,)), Call(part="out", inputs=(0, 1)))
LONGER = (Call(part="attention", inputs=(0,)), *SHORT)


def view(**layers: tuple[Call, ...]) -> View:
    return View(
        wirings=tuple(
            Wiring(layers=tuple(map(int, name[1:].split("_"))), calls=calls)
            for name, calls in layers.items()
        )
    )


def names(seen: View) -> list[str]:
    return list(dict.fromkeys(row["block"] for row in block_rows("mine", seen)))


def test_a_row_a_call() -> None:
    assert list(block_rows("mine", view(_0_1=SHORT))) == [
        {"block": "mine", "call": 1, "part": "norm", "inputs": "0", "reason": ""},
        {"block": "mine", "call": 2, "part": "out", "inputs": "0, 1", "reason": ""},
    ]


def test_layers_that_are_wired_otherwise_have_rows_and_a_name_of_their_own() -> None:
    seen = view(_0=SHORT, _1_2_3=LONGER)
    assert names(seen) == ["mine, block 0", "mine, blocks 1 to 3"]
    assert [row["call"] for row in block_rows("mine", seen)] == [1, 2, 1, 2, 3]
    assert names(view(_0_1_3_5_6=SHORT, _2_4=LONGER)) == [
        "mine, blocks 0 to 1, 3, 5 to 6", "mine, blocks 2, 4",
    ]  # fmt: skip


def test_what_was_not_seen_is_a_row_with_its_reason() -> None:
    unseen = {"block": "mine", "call": 1, "part": "unseen", "inputs": ""}
    assert list(block_rows("mine", View(reason="no"))) == [{**unseen, "reason": "no"}]
    assert list(block_rows("mine", NOT_YET)) == [{**unseen, "reason": "not looked at yet"}]


def test_documents_are_plain_and_come_back() -> None:
    for seen in (view(_0=SHORT, _1_2=LONGER), View(reason="no")):
        assert from_document(json.loads(json.dumps(as_document(seen)))) == seen
