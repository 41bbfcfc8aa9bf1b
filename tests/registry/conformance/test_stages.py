from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry.conformance.recording import Operation, Recorder
from registry.conformance.sizes import APART
from registry.conformance.stages import reshaped, scrambled, stages

NAMES = APART.names(7, 2)


def recorded(function: Callable[[], Any], parameters: dict[str, Tensor] | None = None) -> Recorder:
    recorder = Recorder(parameters or {})
    with recorder:
        function()
    return recorder


def test_each_operation_of_an_attention_has_its_stage() -> None:
    q, k, v, out = (nn.Linear(60, 24), nn.Linear(60, 24), nn.Linear(60, 24), nn.Linear(24, 60))
    x, mask = torch.zeros(5, 7, 60), torch.zeros(7, 7)

    def attend() -> None:
        a, b, c = (part(x).unflatten(-1, (6, 4)).transpose(1, 2) for part in (q, k, v))
        y = (a @ b.mT + mask).softmax(-1) @ c
        out(y.transpose(1, 2).flatten(2))

    found = [stage for stage, _ in stages(recorded(attend), attention=True)]
    assert found == [
        *("projection", "head split", "transpose") * 3,
        "transpose",
        "scores",
        "mask broadcast",
        "softmax",
        "weighted sum",
        "transpose",
        "head merge",
        "output projection",
    ]


def test_outside_of_attention_an_operation_goes_by_its_name() -> None:
    weight = nn.Parameter(torch.zeros(4, 3))
    x = torch.zeros(2, 4)
    recorder = recorded(lambda: (x @ weight).reshape(6) + 1, {"weight": weight})
    found = [stage for stage, _ in stages(recorder, attention=False)]
    assert found == ["projection", "reshape", "add"]


@pytest.mark.parametrize(
    ("reshape", "shape"),
    [
        (lambda x: x.view(5, 7, 9), (5, 7, 9)),
        (lambda x: x.view((5, 7, 9)), (5, 7, 9)),
        (lambda x: x.reshape(5, -1, 9), (5, 23, 9)),
        (lambda x: x.unflatten(-1, (7, -1)), (5, 7, 7, 4)),
        (lambda x: x.unflatten(1, (2, 2)), (5, 2, 2, 30)),
    ],
)
def test_what_a_reshape_was_asked_for_is_known(
    reshape: Callable[[Tensor], Any], shape: tuple[int, ...]
) -> None:
    x = torch.zeros(5, 7, 30)
    recorder = Recorder({})
    with recorder, pytest.raises(RuntimeError):
        reshape(x)
    (operation,) = recorder.operations
    assert reshaped(operation) == shape


def test_what_else_is_asked_is_not() -> None:
    recorder = Recorder({})
    with recorder, pytest.raises(IndexError):
        torch.zeros(5, 7).flatten(3)
    assert reshaped(recorder.operations[-1]) is None
    assert isinstance(recorder.operations[-1], Operation)


@pytest.mark.parametrize(
    ("reshape", "message"),
    [
        (
            lambda x: x.view(5, 6, 7, 4),
            "head split: (B, T, H·C) was reshaped to (B, H, T, C), which mixes tokens: transpose "
            "the dimensions instead",
        ),
        (lambda x: x.view(5, 7, 6, 4).transpose(1, 2), None),
        (lambda x: x.view(35, 24), None),
        (lambda x: x.view(5, 7, 24, 1), None),
    ],
)
def test_a_reshape_that_mixes_tokens_is_found(
    reshape: Callable[[Tensor], Any], message: str | None
) -> None:
    recorder = recorded(lambda: reshape(torch.zeros(5, 7, 24)))
    assert scrambled(recorder, NAMES, attention=True) == message
