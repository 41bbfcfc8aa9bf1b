from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from registry import ComponentSpec, Dims, Example, InvalidOptions, InvalidSpec, UnknownName
from registry.conformance import check_component, check_spec
from registry.conformance.battery import checks_of
from registry.conformance.global_state import moved_since, random_states
from registry.conformance.running import Suite

REASON = "known since long"


class Norm(nn.Module):
    def __init__(self, dims: Dims, *, factor: float = 2.0) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class InPlace(Norm):
    def forward(self, x: Tensor) -> Tensor:
        return x.mul_(self.factor)


class Exiting(Norm):
    def forward(self, x: Tensor) -> Tensor:
        raise SystemExit(1)


class Interrupted(Norm):
    def forward(self, x: Tensor) -> Tensor:
        raise KeyboardInterrupt


class Needing(Norm):
    def __init__(self, dims: Dims, *, factor: float) -> None:
        super().__init__(dims, factor=factor)


class Swallowing(Norm):
    def __init__(self, dims: Dims, **kwargs: Any) -> None:
        super().__init__(dims)


class Broken(Norm):
    """Meets a check with what it does not expect."""

    def parameter_roles(self) -> Any:
        return None


def states(report: Any) -> dict[str, str]:
    return {result.name: result.outcome for result in report.results}


def test_every_check_of_the_kind_is_reported_in_order() -> None:
    report = check_component("norm", Norm)
    assert [result.name for result in report.results] == [c.name for c in checks_of(report.kind)]
    assert report.passed
    assert (report.kind, report.name, dict(report.options)) == ("norm", "Norm", {})
    assert check_component("norm", f"{__name__}:Norm") == report


def test_a_failure_that_was_expected_is_none_and_one_that_does_not_come_is() -> None:
    report = check_component("norm", InPlace)
    assert not report.passed
    assert states(report)["input_unchanged"] == "failed"
    report = check_component("norm", InPlace, expected_failures={"input_unchanged": REASON})
    assert report.passed
    (result,) = (r for r in report.results if r.name == "input_unchanged")
    message = (
        f"{REASON} (the input was changed in place: make a new tensor, x = x + 1 and not x += 1)"
    )
    assert (result.outcome, result.message) == ("expected failure", message)
    report = check_component("norm", Norm, expected_failures={"input_unchanged": REASON})
    assert not report.passed
    (result,) = (r for r in report.results if r.name == "input_unchanged")
    message = f"expected to fail, as {REASON}: take it off the list"
    assert (result.outcome, result.message) == ("unexpected pass", message)


def test_where_a_foundation_fails_nothing_else_is_looked_at() -> None:
    report = check_component("norm", Exiting)
    found = states(report)
    assert found["shape"] == "failed"
    assert (found["constructor"], found["builds"], found["meta_device"]) == ("passed",) * 3
    assert {outcome for name, outcome in found.items() if name not in list(found)[:5]} == {
        "not applicable"
    }
    assert report.results[-1].message == "shape must hold first"
    assert not report.passed
    report = check_component("norm", Exiting, expected_failures={"shape": REASON})
    assert (states(report)["shape"], states(report)["dtype"]) == (
        "expected failure",
        "not applicable",
    )
    assert not report.passed  # too few ran


def test_what_the_component_does_wrong_is_never_raised() -> None:
    for target in (Swallowing, Exiting, Broken, "absent:C", f"{__name__}:states"):
        assert not check_component("norm", target).passed
    result = Suite("norm", Broken).result("roles")
    assert result.outcome == "failed"
    assert result.message.startswith("it raised AttributeError: 'NoneType' object has no attribute")


def test_ctrl_c_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        check_component("norm", Interrupted)


def test_options_are_given_or_found() -> None:
    assert dict(check_component("norm", Needing).options) == {"factor": 0.5}
    report = check_component("norm", Needing, options={"factor": 3})
    assert report.passed
    assert dict(report.options) == {"factor": 3}


def test_what_the_caller_does_wrong_is_raised() -> None:
    with pytest.raises(InvalidOptions) as options:
        check_component("norm", Norm, options={"factro": 1, "factor": "a"})
    assert str(options.value) == (
        "norm 'Norm' has no option 'factro'; did you mean 'factor'? known: factor; option "
        "'factor' of norm 'Norm' must be number, not 'a'"
    )
    with pytest.raises(UnknownName) as name:
        check_component("norm", Norm, expected_failures={"causalty": REASON})
    assert str(name.value).startswith(
        "no check of a norm is named 'causalty'; did you mean 'causality'? known: batch_independ"
    )
    with pytest.raises(InvalidSpec) as kind:
        check_component("nrom", Norm)
    assert str(kind.value) == (
        "the kind of a component is one of norm, activation, feed_forward, attention, position, "
        "residual, placement, initializer, not 'nrom'"
    )


def test_random_states_and_settings_are_left_as_they_were() -> None:
    before = random_states()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            assert check_component("norm", Norm).passed
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert moved_since(before) == []


def test_a_registered_component_is_tried_with_its_examples() -> None:
    spec = ComponentSpec(kind="norm", name="mine", target=Norm)
    (report,) = check_spec(spec)
    assert (report.name, dict(report.options), report.passed) == ("mine", {}, True)
    spec = ComponentSpec(
        kind="norm",
        name="mine",
        target=InPlace,
        examples=(
            Example(options={"factor": 3.0}),
            Example(expected_failures={"input_unchanged": REASON}),
        ),
    )
    assert [report.passed for report in check_spec(spec)] == [False, True]
    assert [dict(report.options) for report in check_spec(spec)] == [{"factor": 3.0}, {}]
