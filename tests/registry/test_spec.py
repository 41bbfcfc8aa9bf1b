from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from registry import (
    Choice,
    ComponentSpec,
    ExecutorSpec,
    InvalidSpec,
    Kind,
    MeasureSpec,
    Metric,
    Profile,
    Provenance,
)
from registry.spec import load_target, plain


class Here:
    """A target at module level."""

    class Inside:
        """A target inside another."""


HERE = f"{__name__}:Here"
KINDS = "norm, activation, feed_forward, attention, position, residual, placement, initializer"
LOSS = Metric(name="loss", unit="nats", summary="Cross-entropy.")
CURVE = Profile(name="curve", unit="nats", summary="Along training.", axis="step")


def component(**fields: Any) -> ComponentSpec:
    return ComponentSpec(**{"kind": "norm", "name": "here", "target": Here, **fields})


def measure(**fields: Any) -> MeasureSpec:
    given = {"name": "loss", "target": Here, "mode": "static", "metrics": [LOSS], **fields}
    return MeasureSpec(**given)


def test_a_class_and_a_kind_may_be_given_as_they_are_or_by_name() -> None:
    assert component(kind=Kind.NORM) == component(target=HERE)
    assert component(target=Here.Inside).target == f"{__name__}:Here.Inside"
    assert component().kind is Kind.NORM
    assert component().reference == HERE


def test_what_an_entry_is_looked_up_by() -> None:
    executor = ExecutorSpec(name="here", target=Here)
    assert [entry.slot for entry in (component(), measure(), executor)] == [
        "norm",
        "measure",
        "executor",
    ]


def changed(entry: Any, **fields: Any) -> Any:
    return replace(entry, **fields)


def test_everything_named_has_its_name_checked() -> None:
    makers: dict[str, Callable[[], object]] = {
        "norm": lambda: component(name="Bad"),
        "measure": lambda: measure(name="Bad"),
        "executor": lambda: ExecutorSpec(name="Bad", target=Here),
        "metric": lambda: changed(LOSS, name="Bad"),
        "profile": lambda: changed(CURVE, name="Bad"),
    }
    for what, make in makers.items():
        message = (
            f"the name of a {what} is lower_snake (letters a to z, digits, underscores, a letter "
            "first), not 'Bad'"
        )
        with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
            make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: component(kind="nrom"), f"the kind of 'here' is one of {KINDS}, not 'nrom'"),
        (lambda: component(kind=None), f"the kind of 'here' is one of {KINDS}, not None"),
        (lambda: component(kind=["norm"]), f"the kind of 'here' is one of {KINDS}, not ['norm']"),
        (
            lambda: component(name="layers"),
            "'layers' cannot name a norm: a grid reads it otherwise",
        ),
        (
            lambda: measure(name="null"),
            "'null' cannot name a measure: a grid reads it otherwise",
        ),
        (
            lambda: component(target="dyt"),
            "the target of 'here' is a class at module level or 'module:Class', not 'dyt'",
        ),
        (
            lambda: measure(target=None),
            "the target of 'loss' is a class at module level or 'module:Class', not None",
        ),
        (lambda: component(summary=None), "the summary of norm 'here' is text, not None"),
        (lambda: component(source=1607), "the source of norm 'here' is text, not 1607"),
        (lambda: measure(cost=1), "the cost of measure 'loss' is text, not 1"),
        (lambda: changed(LOSS, unit=None), "the unit of metric 'loss' is text, not None"),
        (
            lambda: measure(mode="dynamic"),
            "the mode of measure 'loss' is one of static, observing, running, not 'dynamic'",
        ),
        (
            lambda: changed(LOSS, better="lesser"),
            "the better end of metric 'loss' is one of higher, lower, neither, not 'lesser'",
        ),
        (
            lambda: changed(LOSS, scale="ln"),
            "the scale of metric 'loss' is one of linear, log, not 'ln'",
        ),
        (
            lambda: changed(CURVE, axis="width"),
            "the axis of profile 'curve' is one of depth, step, context, not 'width'",
        ),
        (
            lambda: changed(CURVE, scale="ln"),
            "the scale of profile 'curve' is one of linear, log, not 'ln'",
        ),
        (
            lambda: measure(metrics=["loss"]),
            "the metrics of measure 'loss' are a list of Metric, not ['loss']",
        ),
        (
            lambda: measure(profiles=CURVE.name),
            "the profiles of measure 'loss' are a list of Profile, not 'curve'",
        ),
        (
            lambda: measure(profiles=[CURVE, CURVE]),
            "measure 'loss' declares profile 'curve' twice",
        ),
        (
            lambda: measure(metrics=[LOSS, LOSS]),
            "measure 'loss' declares metric 'loss' twice",
        ),
    ],
)
def test_what_a_spec_may_not_say(make: Any, message: str) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        make()


def test_specs_are_frozen_hold_tuples_and_travel_between_processes() -> None:
    source = Provenance(distribution="dyt", version="1", entry_point="dyt")
    for spec in (component(), measure(profiles=[CURVE]), ExecutorSpec(name="here", target=Here)):
        spec = replace(spec, provenance=source)
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert hash(spec) == hash(replace(spec))
        with pytest.raises(FrozenInstanceError):
            spec.name = "other"  # type: ignore[misc]
    assert measure().metrics == (LOSS,)
    assert str(source) == "dyt 1"


def test_a_choice_travels_between_processes_and_loads_its_class() -> None:
    choice = Choice(name="here", target=HERE, options={"a": 1}, given=frozenset({"a"}))
    copy = pickle.loads(pickle.dumps(choice))
    assert copy == choice
    assert copy.load() is Here


@pytest.mark.parametrize(
    ("options", "given", "label"),
    [
        ({"n_kv_heads": 2}, {"n_kv_heads"}, "gqa(n_kv_heads=2)"),
        ({"n_kv_heads": 2}, set(), "gqa"),
        ({"b": True, "a": None, "c": 1}, {"b", "a"}, "gqa(a=null, b=true)"),
        ({"a": (1, False)}, {"a"}, "gqa(a=[1, false])"),
    ],
)
def test_a_label_shows_the_options_that_a_person_gave(
    options: dict[str, Any], given: set[str], label: str
) -> None:
    choice = Choice(name="gqa", target=HERE, options=options, given=frozenset(given))
    assert choice.label == label


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0.5, "0.5"),
        ("none", "none"),
        ([1, [None, False]], "[1, [null, false]]"),
        ({"a": True, "b": (1,)}, "{a: true, b: [1]}"),
    ],
)
def test_values_are_shown_as_yaml_spells_them(value: object, text: str) -> None:
    assert plain(value) == text


def test_a_target_is_imported_by_name() -> None:
    assert load_target(HERE) is Here
    assert load_target(f"{HERE}.Inside") is Here.Inside


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (
            "absent:C",
            "absent:C cannot be loaded: ModuleNotFoundError: No module named 'absent'",
        ),
        (
            f"{__name__}:Gone",
            f"{__name__}:Gone cannot be loaded: AttributeError: module '{__name__}' has no "
            "attribute 'Gone'",
        ),
        (f"{__name__}:component", f"{__name__}:component is not a class but of type function"),
    ],
)
def test_a_target_that_is_no_class_says_so(target: str, reason: str) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(reason)}$"):
        load_target(target)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
    ],
)
def test_whatever_the_module_of_a_target_does_costs_that_target_alone(
    source: str, reason: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rude_module.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    message = f"^rude_module:C cannot be loaded: {re.escape(reason)}$"
    with pytest.raises(InvalidSpec, match=message):
        load_target("rude_module:C")


def test_ctrl_c_during_an_import_is_not_swallowed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupted_module.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        load_target("interrupted_module:C")
