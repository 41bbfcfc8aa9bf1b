"""The stand-ins keep the contracts of their kinds themselves."""

from __future__ import annotations

import pytest
import torch

from registry import InvalidSpec, Kind
from registry.conformance import check_component, standins
from registry.conformance.sizes import APART
from registry.conformance.standins import stand_in

CLASSES = [
    ("norm", standins.Norm),
    ("activation", standins.Activation),
    ("activation", standins.GatedActivation),
    ("feed_forward", standins.FeedForward),
    ("attention", standins.Attention),
    ("residual", standins.Residual),
]


@pytest.mark.parametrize(("kind", "cls"), CLASSES)
def test_a_stand_in_passes_what_it_stands_in_for(kind: str, cls: type) -> None:
    report = check_component(kind, cls)
    assert report.passed, report.text()


def test_every_kind_that_a_maker_may_be_named_after_has_one() -> None:
    for kind in set(Kind) - {Kind.INITIALIZER}:
        assert isinstance(stand_in(kind, APART.dims), torch.nn.Module)
    assert stand_in("activation", APART.dims, gated=True).gated
    with pytest.raises(InvalidSpec) as caught:
        stand_in("initializer", APART.dims)
    assert str(caught.value) == "no component is given a maker of initializers"


def test_an_attention_remembers_what_it_is_given() -> None:
    attention = standins.Attention(APART.dims)
    mark = object()
    attention(torch.zeros(1, 2, APART.dims.d_model), position=mark)
    assert attention.given == [{"position": mark}]
