"""A plan for a person: what would run and what would not, what it takes, and every setting."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from ablations.amounts import in_words
from ablations.executors.process_tree import SEEN
from ablations.machine import refusal
from ablations.printable import line
from ablations.progress import duration

if TYPE_CHECKING:
    from ablations.grid import Grid
    from ablations.planning import Plan

MOST_TOLD = 20
"""Reasons, and cells for each, that a plan's text tells; `plan --json` has them all."""


def plan_text(plan: Plan) -> str:
    """What `plan` prints, with every value of the model, given or default."""
    grid, survey = plan.grid, plan.survey
    lines = [
        f"{grid.name}: {len(plan.cells)} cells × {len(grid.seeds)} seeds, {plan.trials} trials",
        *(f"  {factor.name}: {_levels(grid, factor)}" for factor in grid.factors),
        f"measures: {', '.join(measure.choice.label for measure in grid.measures)}",
    ]
    if survey.most is not None:
        range_ = f"{survey.least:,}" + f" to {survey.most:,}" * (survey.least != survey.most)
        lines += [
            f"parameters: {range_}",
            f"computation: {plan.flops:.3g} FLOPs (a multiply-add is 2){_time(plan)}",
            *(
                [f"memory: the largest trial needs at least {in_words(survey.largest)}"]
                if survey.largest
                else []
            ),
            f"memory limit: {in_words(plan.memory)} a trial, {_origin_of_memory(plan)}",
        ]
    if plan.too_large:
        lines.append(
            f"too large: {plan.too_large:,} of {plan.trials:,} trials cannot be measured whole"
        )
    if plan.trials > plan.too_large:
        lines += filter(None, [f"workers: {plan.workers}", plan.workers.hint])
    too_large = iter(plan.each_too_large())
    lines += [
        f"too large: {one['cell']}: {one['measure']} {refusal(one['bytes'], plan.memory)}"
        for one in islice(too_large, MOST_TOLD)
    ]
    lines += _rest("too large: and {} more", sum(1 for _ in too_large))
    by_reason: dict[str, list[int]] = {}
    for number, reason in survey.skipped():
        by_reason.setdefault(reason, []).append(number)
    for reason, numbers in islice(by_reason.items(), MOST_TOLD):
        lines.append(f"skipped: {line(reason)}")
        lines += [f"  {plan.label(number)}" for number in numbers[:MOST_TOLD]]
        lines += _rest("  and {} more cells", len(numbers) - MOST_TOLD)
    lines += _rest("skipped: and cells for {} more reasons", len(by_reason) - MOST_TOLD)
    lines.append("settings:")
    lines += [f"  {s.key}: {s.value} ({s.origin})" for s in grid.settings()]
    return "\n".join(lines)


def _time(plan: Plan) -> str:
    """What is known of how long it takes, in words; empty where nothing is."""
    if not plan.seconds:
        return ""
    time = f"about {duration(plan.seconds)}" if plan.seconds >= 1 else "under a second"
    fitting = " of the trials that fit" if plan.too_large else ""
    return (
        f", {time} of measuring{fitting} on one core; starting workers, examining components "
        "that are new and drawing the report come on top"
    )


def _origin_of_memory(plan: Plan) -> str:
    if plan.grid.memory is not None:
        return "as the grid says" if SEEN else "as the grid says; it is not enforced here"
    if not SEEN:
        return "not enforced here: only Linux shows what a trial uses"
    number = plan.workers.number
    return f"this machine's for {'1 worker' if number == 1 else f'each of {number} workers'}"


def _levels(grid: Grid, factor: Any) -> str:
    baseline = grid.baseline[factor.name]
    return ", ".join(
        f"{level.label} (baseline)" if level.label == baseline else level.label
        for level in factor.levels
    )


def _rest(words: str, more: int) -> list[str]:
    """A line that tells how many more there are, if any."""
    return [words.format(f"{more:,}") + "; plan --json has them all"] if more > 0 else []
