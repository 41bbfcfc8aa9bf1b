"""The reasons why trials were lost, in a few short lines."""

from __future__ import annotations

from collections import Counter

from ablations.results import MeasureResult, TrialResult
from ablations.tally import LENGTH, Tally, told_reasons


def trial(*measures: tuple[str, str]) -> TrialResult:
    return TrialResult(
        cell="a",
        seed=0,
        measures=tuple(
            MeasureResult(measure=f"m{n}", identity="i", state=state, message=message)
            for n, (state, message) in enumerate(measures)
        ),
    )


def test_each_state_goes_by_its_own_name_and_a_trial_counts_a_reason_once() -> None:
    tally = Tally()
    crash = ("crashed", "its worker process was killed by SIGKILL")
    assert tally.add(trial(crash, crash)) == "crashed"
    assert tally.add(trial(("done", ""), crash)) == "crashed"
    assert tally.add(trial(("failed", "RuntimeError: no"), ("timeout", "too long"))) == "timeout"
    assert tally.add(trial(("diverged", "not finite: a"), ("skipped", "not applicable"))) == (
        "diverged"
    )
    assert tally.states == {"crashed": 2, "timeout": 1, "diverged": 1}
    assert told_reasons(tally.reasons) == [
        "2 crashed: its worker process was killed by SIGKILL",
        "1 failed: RuntimeError: no",
        "1 timeout: too long",
    ]


def test_there_are_never_more_than_a_few_lines_and_their_order_is_not_chance() -> None:
    reasons = Counter({f"failed: {n}": 1 for n in range(9)}) + Counter({"failed: z": 2})
    assert told_reasons(reasons) == [
        "2 failed: z",
        "1 failed: 0",
        "1 failed: 1",
        "and 7 other reasons; the report has them all",
    ]
    backwards = Counter(dict(reversed(reasons.items())))
    assert told_reasons(backwards) == told_reasons(reasons)
    four = Counter({f"failed: {n}": 1 for n in range(4)})
    assert told_reasons(four)[-1] == "and 1 other reason; the report has them all"


def test_a_page_long_message_is_one_line_that_steers_no_terminal() -> None:
    tally = Tally()
    tally.add(trial(("failed", "RuntimeError: \x1b[2Jgone\n" + "x" * 10_000)))
    (line,) = told_reasons(tally.reasons)
    assert line.startswith(r"1 failed: RuntimeError: \x1b[2Jgone xxx")
    assert len(line) < 1.5 * LENGTH
    assert line.isprintable()


def test_a_state_without_a_message_is_told_alone() -> None:
    tally = Tally()
    tally.add(trial(("crashed", "")))
    assert told_reasons(tally.reasons) == ["1 crashed"]
