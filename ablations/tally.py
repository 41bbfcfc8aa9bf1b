"""What became of the trials of a run, counted: their states, and why some have no result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ablations.printable import line
from ablations.results import FINAL, TrialResult, worst

MOST_REASONS = 3
"""Reasons that are told; the report has them all."""

LENGTH = 200
"""Characters of a reason that are told."""


@dataclass(kw_only=True)
class Tally:
    """Trials by the worst state of their measures, and by why they were lost."""

    states: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """Of failed, crashed and timed-out trials: `failed: RuntimeError: no`."""

    def add(self, result: TrialResult) -> str:
        """Count a trial, and each of its reasons once; returns its state."""
        state = worst(measure.state for measure in result.measures)
        self.states[state] += 1
        lost = (measure for measure in result.measures if measure.state not in FINAL)
        self.reasons.update({_reason(measure.state, measure.message) for measure in lost})
        return state


def told_reasons(reasons: Counter[str]) -> list[str]:
    """The most common reasons, one a line and never more than a few."""
    # Of equally common ones the first by name: the order in which trials ended is chance.
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count} {reason}" for reason, count in ordered[:MOST_REASONS]]
    rest = len(ordered) - len(lines)
    if rest:
        lines.append(f"and {rest} other reason{'s' * (rest > 1)}; the report has them all")
    return lines


def _reason(state: str, message: str) -> str:
    """One line of what may be a page."""
    return line(" ".join([f"{state}:", *message.split()]) if message else state, LENGTH)
