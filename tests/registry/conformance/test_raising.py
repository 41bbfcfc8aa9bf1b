from __future__ import annotations

import torch

from registry.conformance.raising import raised, source_line


def caught(function: object) -> BaseException:
    try:
        function()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("it should have raised")


def broken() -> None:
    raise ValueError("not today")


def in_torch() -> None:
    torch.nn.Linear(2, 3)(torch.zeros(4))


def test_an_exception_is_told_with_the_line_of_a_stranger() -> None:
    message = 'raised ValueError: not today (at `raise ValueError("not today")`)'
    assert raised(caught(broken)) == message


def test_the_line_is_not_torchs() -> None:
    assert source_line(caught(in_torch)) == " (at `torch.nn.Linear(2, 3)(torch.zeros(4))`)"


def test_there_may_be_no_line() -> None:
    assert source_line(ValueError()) == ""
