"""How blocks are wired: what one pass shows is what the placement's formula says."""

import pytest
import torch

from ablations.blocks import OUT
from ablations.decoder import skeleton
from ablations.wiring import wirings
from tests.ablations.decoders import build, small


def seen(decoder, *layers):
    """The calls of each wiring, by its layers."""
    return {
        wiring.layers: [(call.part, *call.inputs) for call in wiring.calls]
        for wiring in wirings(decoder, layers, tokens=8)
    }


def calls(**model):
    return seen(skeleton(small(**model)), 0)[(0,)]


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
    "veiled": POST,
    "twice": [
        ("norm", 0), ("attention", 1), ("residual", 0, 2), ("norm", 3), ("attention", 4),
        ("residual", 3, 5), (OUT, 6),
    ],
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


def test_the_layers_asked_for_are_looked_at_and_those_that_are_alike_told_together():
    decoder = skeleton(small(placement={"layers": ["pre", "post", "pre"]}))
    assert seen(decoder, 0, 1, 2) == {(0, 2): PRE, (1,): POST}
    assert seen(decoder, 1) == {(1,): POST}


def test_layers_that_share_their_weights_are_looked_at_alike():
    assert seen(skeleton(small(depth=4, share_layers=2)), 0, 1, 2, 3) == {(0, 1, 2, 3): PRE}


def test_values_show_what_shapes_do():
    assert seen(build(placement="sandwich"), 0) == {(0,): WIRED["sandwich"]}


def test_a_norm_that_hands_on_its_input_is_not_what_the_residual_is_given():
    assert calls(norm="none") == PRE
    assert calls(norm="none", placement="post") == POST


def test_what_changes_the_stream_in_place_is_what_comes_after_it():
    assert calls(norm="in_place")[:3] == [("norm", 0), ("attention", 1), ("residual", 1, 2)]


def placed(monkeypatch, forward):
    monkeypatch.setattr("components.placements.Pre.forward", forward)
    return skeleton(small())


def test_a_part_that_autograd_does_not_follow_is_followed(monkeypatch):
    monkeypatch.setattr("components.norms.LayerNorm.forward", lambda _self, x: x.detach() * 2)
    assert calls() == PRE


def test_a_caller_without_gradients_sees_the_same():
    with torch.no_grad():
        assert calls() == PRE


def test_a_part_that_returns_no_tensor_is_told(monkeypatch):
    monkeypatch.setattr("components.norms.LayerNorm.forward", lambda _self, x: (x, x))
    with pytest.raises(TypeError, match=r"^norm must return a tensor, not tuple$"):
        calls()


def test_a_block_that_returns_no_tensor_is_told(monkeypatch):
    decoder = placed(monkeypatch, lambda _self, x, **_mixing: (x, x))
    with pytest.raises(TypeError, match=r"^the block must return a tensor, not tuple$"):
        seen(decoder, 0)


def test_a_result_that_does_not_come_from_the_stream_is_told(monkeypatch):
    decoder = placed(monkeypatch, lambda _self, x, **_mixing: x.detach())
    with pytest.raises(ValueError, match=r"^the block's result does not come from its stream$"):
        seen(decoder, 0)


def test_no_random_number_is_drawn_and_no_hook_stays():
    before, decoder = torch.get_rng_state(), skeleton(small(dropout={"residual": 0.5}))
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in decoder.modules()]
    seen(decoder, 0)
    assert torch.equal(before, torch.get_rng_state())
    after = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in decoder.modules()]
    assert after == hooks
