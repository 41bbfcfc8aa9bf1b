"""What a pass sees of a component that does what its kind must not do."""

import pytest

from ablations.breaches import ContractBroken, contracts_watched
from ablations.observation import PassOptions, observe
from tests.ablations.decoders import build, tokens


def watched(**model):
    decoder = build(**model)
    with contracts_watched(decoder):
        return decoder(tokens())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            {"placement": "keeping", "position": "rope"},
            "placement 'keeping' keeps position 'rope' from its attention: hand on **mixing "
            "unchanged",
        ),
        ({"norm": "in_place"}, "norm 'in_place' changed its input in place"),
        (
            {"attention": "narrow"},
            "attention 'narrow' must return the shape that it is given, (2, 16, 32), not "
            "(2, 1, 32)",
        ),
        ({"attention": "pair"}, "attention 'pair' must return a tensor, not tuple"),
    ],
)
def test_a_broken_contract_is_told(model, message):
    with pytest.raises(ContractBroken) as caught:
        watched(**model)
    assert str(caught.value) == message


@pytest.mark.parametrize("placement", ["pre", "sandwich", "parallel", "other_names"])
@pytest.mark.parametrize("position", ["none", "learned", "rope", "alibi", "per_layer"])
def test_kept_contracts_are_left_alone(placement, position):
    assert watched(placement=placement, position=position).shape == (2, 16, 64)


def test_a_placement_may_keep_what_would_do_nothing():
    assert watched(placement="keeping", position="learned").shape == (2, 16, 64)


def test_shared_blocks_and_qk_norms_are_watched_too():
    model = {"depth": 4, "share_layers": 2, "position": "rope"}
    assert watched(**model, attention={"mha": {"qk_norm": "per_head"}}).shape == (2, 16, 64)


def test_nothing_is_left_behind():
    decoder = build()
    with contracts_watched(decoder):
        decoder(tokens())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in decoder.modules())


def test_an_observed_pass_is_watched():
    from ablations.streams import generator_of

    with pytest.raises(ContractBroken):
        observe(build(norm="in_place"), PassOptions(), lambda name: generator_of(0, name))
