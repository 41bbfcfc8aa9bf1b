from __future__ import annotations

from typing import Any

import pytest

from registry import Kind
from registry.conformance import Report, Result
from registry.conformance.report import not_run


def report(*outcomes: Any, kind: Kind = Kind.INITIALIZER, **fields: Any) -> Report:
    results = tuple(
        Result(name=f"check_{number}", outcome=outcome, message=f"message {number}")
        for number, outcome in enumerate(outcomes)
    )
    return Report(kind=kind, name="Mine", results=results, **fields)


@pytest.mark.parametrize(
    ("outcomes", "passed"),
    [
        (["passed"] * 5, True),
        (["passed"] * 4 + ["expected failure"], True),
        (["passed"] * 5 + ["not applicable"], True),
        (["passed"] * 4 + ["not applicable"], False),
        (["passed"] * 5 + ["failed"], False),
        (["passed"] * 5 + ["unexpected pass"], False),
        ([], False),
    ],
)
def test_a_report_passes_when_nothing_failed_and_enough_ran(
    outcomes: list[Any], passed: bool
) -> None:
    assert report(*outcomes).passed is passed
    assert report(*outcomes).minimum == 5
    assert report(*outcomes).n_run == len(outcomes) - outcomes.count("not applicable")


def test_only_causality_leaks() -> None:
    assert not report("failed").leaks
    for outcome in ("failed", "expected failure"):
        result = Result(name="causality", outcome=outcome)  # type: ignore[arg-type]
        assert Report(kind=Kind.NORM, name="Mine", results=(result,)).leaks
    for outcome in ("passed", "not applicable", "unexpected pass"):
        result = Result(name="causality", outcome=outcome)  # type: ignore[arg-type]
        assert not Report(kind=Kind.NORM, name="Mine", results=(result,)).leaks


def test_checks_that_did_not_run_are_counted_by_what_must_hold_first() -> None:
    messages = ["", "shape must hold first", "finite: NaN", "shape must hold first"]
    assert not_run(messages) == ["not run, as shape failed: 2 checks"]
    assert not_run([*messages, "dtype must hold first"]) == [
        "not run, as shape failed: 2 checks",
        "not run, as dtype failed: 1 check",
    ]
    assert not_run(["", "it has none"]) == []


def test_a_report_is_told_in_lines() -> None:
    outcomes = ["passed", "failed", "not applicable", "expected failure", "unexpected pass"]
    found = report(*outcomes, options={"std": 0.1, "flag": True}).text()
    assert found == (
        "initializer Mine(std=0.1, flag=true): FAILED, 4 checks ran, fewer than the 5 of its "
        "kind\n"
        "  failed: check_1: message 1\n"
        "  not applicable: check_2: message 2\n"
        "  expected failure: check_3: message 3\n"
        "  unexpected pass: check_4: message 4"
    )
    assert report(*["passed"] * 6).text() == "initializer Mine: passed, 6 checks ran"
