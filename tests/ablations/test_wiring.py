"""How blocks are wired: what one pass on shapes shows is what the placement's formula says."""

import pytest
import torch
from torch import nn

from ablations.wiring import OUT, UNSEEN, Blocks, Call, wiring
from tests.ablations.decoders import small


def calls(**model):
    return [(call.part, *call.inputs) for call in wiring(small(**model), 0)]


PRE = [("norm", 0), ("attention", 1), ("residual", 0, 2), ("norm", 3), ("feed_forward", 4),
       ("residual", 3, 5), (OUT, 6)]  # fmt: skip
POST = [("attention", 0), ("residual", 0, 1), ("norm", 2), ("feed_forward", 3),
        ("residual", 3, 4), ("norm", 5), (OUT, 6)]  # fmt: skip
WIRED = {
    "pre": PRE,
    "post": POST,
    "deepnorm": POST,  # the widened stream is computed from the stream
    "post_sublayer": [
        ("attention", 0), ("norm", 1), ("residual", 0, 2), ("feed_forward", 3), ("norm", 4),
        ("residual", 3, 5), (OUT, 6),
    ],
    "sandwich": [
        ("norm", 0), ("attention", 1), ("norm", 2), ("residual", 0, 3), ("norm", 4),
        ("feed_forward", 5), ("norm", 6), ("residual", 4, 7), (OUT, 8),
    ],
    "parallel": [
        ("norm", 0), ("attention", 1), ("feed_forward", 1), ("residual", 0, 2),
        ("residual", 3, 4), (OUT, 5),
    ],
    "other_names": PRE,  # a stranger's, whose attributes are called otherwise
}  # fmt: skip


@pytest.mark.parametrize("placement", WIRED)
def test_placements_are_seen_as_their_formulas_say(placement):
    assert calls(placement=placement) == WIRED[placement]


def test_parallel_with_two_norms_has_both_read_the_stream():
    found = calls(placement={"parallel": {"norms": 2}})
    assert [call for call in found if call[0] == "norm"] == [("norm", 0), ("norm", 0)]


def test_without_a_residual_nothing_comes_from_the_stream_before():
    assert ("residual", 0, 2) in calls(residual="add")
    assert calls(residual="none")[2] == ("residual", 0, 2)  # it is handed both
    assert calls(residual="none")[3] == ("norm", 3)


def test_norms_inside_an_attention_are_its_own():
    assert calls(attention={"mha": {"qk_norm": "per_head"}}) == PRE


def test_rotary_positions_go_through():
    assert calls(position="rope") == PRE


def test_the_layer_asked_for_is_looked_at():
    architecture = small(placement={"layers": ["pre", "post", "pre"]})
    assert wiring(architecture, 1)[0] == Call(part="attention", inputs=(0,))
    assert wiring(architecture, 2)[0] == Call(part="norm", inputs=(0,))


def test_each_placement_and_residual_is_a_block_once():
    blocks = Blocks()
    for norm in ("layernorm", "rmsnorm"):
        blocks.add(small(norm=norm, placement={"layers": ["pre", "post", "pre"]}))
    rows = list(blocks.rows())
    assert [row["block"] for row in rows] == ["pre"] * 7 + ["post"] * 7
    assert rows[2] == {"block": "pre", "call": 3, "part": "residual", "inputs": "0, 2"}
    blocks.add(small(residual="none"))
    assert list(dict.fromkeys(row["block"] for row in blocks.rows())) == [
        "pre, residual add", "post, residual add", "pre, residual none",
    ]  # fmt: skip


def test_a_block_that_cannot_be_watched_is_said_to_be_unseen(monkeypatch):
    def broken(_self, _x, **_mixing):
        raise RuntimeError("no values on the meta device")

    monkeypatch.setattr("components.placements.Pre.forward", broken)
    blocks = Blocks()
    blocks.add(small())
    assert list(blocks.rows()) == [{"block": "pre", "call": 1, "part": UNSEEN, "inputs": ""}]


def test_a_result_that_does_not_come_from_the_stream_is_unseen(monkeypatch):
    monkeypatch.setattr("components.placements.Pre.forward", lambda _s, x, **_m: x.detach())
    with pytest.raises(ValueError, match=r"^the block's result does not come from its stream$"):
        wiring(small(), 0)


def test_no_random_number_is_drawn_and_no_hook_stays():
    before = torch.get_rng_state()
    wiring(small(dropout={"residual": 0.5}), 0)
    assert torch.equal(before, torch.get_rng_state())
    assert not nn.modules.module._global_forward_hooks
