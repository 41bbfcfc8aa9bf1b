"""What a run directory holds of a grid, and the trials that are still to be carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from ablations.architecture import Architecture
from ablations.checkpoints import CheckpointFolder
from ablations.design import Cell
from ablations.estimating import PlannedCell
from ablations.identity import components_of
from ablations.machine import refusal
from ablations.planning import Plan
from ablations.results import FINAL, worst
from ablations.storage.plan import RunPlan
from ablations.strangers import by_strangers, strangers_of
from ablations.trial import PlannedMeasure, Trial
from registry.spec import Choice, MeasureSpec

Known = Mapping[tuple[str, int, str], tuple[str, str]]
"""The identity and state of each result that a store holds, by cell, seed and measure."""

PRECEDENCE = ("changed", "new", "lost")
"""What a trial counts as whose measures differ in it."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a run directory is with a grid, in trials.

    `reused` are whole already. To be carried out are: those tried `again`, by the state in which
    they were left; those `changed`, since what a held result depends on is not what it was; and
    the `new`. `left` counts, by state, those that were lost and are not tried again.
    `unasked` counts results, one a measure of a trial, that the grid does not ask for: they are
    kept and are not in its report.
    """

    reused: int = 0
    again: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    new: int = 0
    left: Counter[str] = field(default_factory=Counter)
    unasked: int = 0

    @property
    def to_do(self) -> int:
        """Trials that are to be carried out."""
        return self.again.total() + self.changed + self.new

    @property
    def lines(self) -> list[str]:
        """What there is to say of it; nothing where the directory held nothing."""
        told = [
            f"{self.reused} reused" if self.reused else "",
            f"{self.again.total()} tried again ({by_state(self.again)})" if self.again else "",
            f"{self.changed} measured anew (their code, files or environment changed)"
            if self.changed
            else "",
            f"not tried again: {by_state(self.left)}" if self.left else "",
        ]
        lines = []
        if any(told):
            lines.append(", ".join(filter(None, [*told, f"{self.new} new" if self.new else ""])))
        if self.unasked:
            results = "1 result" if self.unasked == 1 else f"{self.unasked} results"
            lines.append(
                f"{results} of cells, seeds or measures that this grid does not ask for "
                f"{'is' if self.unasked == 1 else 'are'} kept, but not in its report"
            )
        return lines


def by_state(counts: Counter[str]) -> str:
    """`1 crashed, 2 failed`."""
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))


def standing(
    planned: Plan, recorded: RunPlan, known: Known, *, retry_failed: bool = True
) -> Standing:
    """What is reused of the results that are `known`, and what is to be done."""
    counts: Counter[str] = Counter()
    again: Counter[str] = Counter()
    left: Counter[str] = Counter()
    asked = 0
    for seed, entry in _trials(planned):
        fates = []
        lost = []
        for choice in entry.cell.measures:
            held = known.get((entry.cell.cell, seed, choice.name))
            asked += held is not None
            fate = _fate(held, recorded.identities[entry.cell.cell, choice.name])
            fates.append(fate)
            if held is not None and fate == "lost":
                lost.append(held[1])
        if lost:
            (again if retry_failed else left)[worst(lost)] += 1
        if not (lost and retry_failed):
            counts[next((fate for fate in PRECEDENCE if fate in fates), "kept")] += 1
    return Standing(
        reused=counts["kept"],
        again=again,
        changed=counts["changed"],
        new=counts["new"],
        left=left,
        unasked=len(known) - asked,
    )


def missing_trials(
    planned: Plan,
    recorded: RunPlan,
    known: Known,
    *,
    retry_failed: bool = True,
    checkpoints: CheckpointFolder | None = None,
    memory: int | None = None,
    device: str = "cpu",
) -> Iterator[Trial]:
    """Trials whose measures the store does not hold under the identity that is asked for.

    A measure that needs more than `memory` bytes is to fail before it begins.

    Seeds come first, so that an unfinished run has whole cells to compare, and within a seed the
    trials that run the same strangers' code, so that workers seldom start anew. Static measures
    come last, so that they count the decoder that the others had built.
    """
    settled = {"kept"} if retry_failed else {"kept", "lost"}
    specs = {asked.choice.name: asked.spec for asked in planned.grid.measures}
    baseline = planned.baseline

    def trial(entry: PlannedCell, seed: int) -> Trial | None:
        cell = entry.cell
        measures = tuple(
            _planned_measure(specs[choice.name], choice, identity, entry, memory)
            for choice in sorted(cell.measures, key=lambda c: specs[c.name].mode == "static")
            for identity in [recorded.identities[cell.cell, choice.name]]
            if _fate(known.get((cell.cell, seed, choice.name)), identity) not in settled
        )
        if not measures:
            return None
        against = any(specs[m.choice.name].against_baseline for m in measures)
        beside = baseline if against else None
        return replace(_trial(planned, cell, seed, measures, beside, checkpoints), device=device)

    running = planned.running
    for seed in planned.grid.seeds:
        # Trials are made as they are asked for: those of a million cells are never there together.
        later: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        for number, entry in enumerate(running):
            made = trial(entry, seed)
            if made is not None and made.strangers:
                count, names = by_strangers(made)
                later.setdefault((count, tuple(names)), []).append(number)
            elif made is not None:
                yield made
        for key in sorted(later):
            for number in later[key]:
                made = trial(running[number], seed)
                assert made is not None, "what is known does not change"
                yield made


def _trial(
    planned: Plan,
    cell: Cell,
    seed: int,
    measures: tuple[PlannedMeasure, ...],
    baseline: Architecture | None,
    checkpoints: CheckpointFolder | None,
) -> Trial:
    assert cell.architecture is not None, "a cell without an architecture is skipped"
    built = [cell.architecture] if baseline is None else [cell.architecture, baseline]
    components = chain.from_iterable(map(components_of, built))
    return Trial(
        cell=cell.cell,
        seed=seed,
        architecture=cell.architecture,
        measures=measures,
        dtype=planned.grid.dtype,
        stream=cell.stream,
        checkpoints=checkpoints,
        baseline=baseline,
        strangers=strangers_of(c.target for c in chain(components, (m.choice for m in measures))),
    )


def _trials(planned: Plan) -> Iterator[tuple[int, PlannedCell]]:
    return ((seed, entry) for seed in planned.grid.seeds for entry in planned.running)


def _planned_measure(
    spec: MeasureSpec, choice: Choice, identity: str, entry: PlannedCell, memory: int | None
) -> PlannedMeasure:
    return PlannedMeasure(
        choice=choice,
        identity=identity,
        declared=spec.declared,
        infinite=spec.infinite,
        static=spec.mode == "static",
        refusal=refusal(entry.least_bytes.get(choice.name, 0), memory),
    )


def _fate(held: tuple[str, str] | None, identity: str) -> Literal["kept", "lost", "changed", "new"]:
    """What becomes of the result held of a measure of a trial, where this identity is asked for."""
    if held is None:
        return "new"
    if held[0] != identity:
        return "changed"
    return "kept" if held[1] in FINAL else "lost"
