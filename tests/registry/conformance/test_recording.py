from __future__ import annotations

import pytest
import torch
from torch import nn

from registry.conformance.recording import Recorder, operation_name


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (torch.nn.functional.linear, "linear"),
        (torch.Tensor.__rsub__, "sub"),
        (torch.Tensor.add_, "add"),
        (torch.Tensor.masked_fill, "masked_fill"),
        (torch.Tensor.mT.__get__, "mT"),
        (torch.Tensor.__getitem__, "getitem"),
        (torch.reshape, "reshape"),
    ],
)
def test_operations_have_plain_names(function: object, name: str) -> None:
    assert operation_name(function) == name  # type: ignore[arg-type]


def test_what_is_done_to_tensors_is_recorded_and_questions_are_not() -> None:
    layer = nn.Linear(3, 4)
    x = torch.zeros(2, 3)
    with Recorder(dict(layer.named_parameters())) as recorder:
        y = layer(x)
        assert y.shape == (2, 4)
        first, _ = y.split(2, dim=-1)
    linear, split = recorder.operations
    assert [linear.name, split.name] == ["linear", "split"]
    assert linear.shapes == [(2, 3), (4, 3), (4,)]
    assert split.shape == (2, 2)
    assert recorder.made(first) is split
    assert recorder.made(x) is None
    assert [recorder.name(tensor) for tensor in linear.inputs] == [None, "weight", "bias"]
    assert recorder.name(layer.weight.T) == "weight"


def test_what_raised_is_known_by_its_exception() -> None:
    recorder = Recorder({})
    with recorder, pytest.raises(RuntimeError) as caught:
        torch.zeros(2) + torch.zeros(3)
    failed = recorder.failed(caught.value)
    assert failed is not None
    assert (failed.name, failed.shapes) == ("add", [(2,), (3,)])
    assert recorder.failed(RuntimeError()) is None
