"""A grid carried out into a run directory: plan, execute, record, resume, report."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from ablations.checkpoints import checkpoint_of
from ablations.conformity import Cache, Conformity
from ablations.examining import Examination, conformity_of, examine
from ablations.executors import require_main_guard
from ablations.following import Followers, run_info
from ablations.grid import Grid
from ablations.library import write_report
from ablations.log import RunLog
from ablations.planning import Plan, plan
from ablations.record import run_plan
from ablations.results import MeasureResult, TrialResult, worst
from ablations.storage.lock import RunLock
from ablations.storage.schema import FILE
from ablations.store import RunPlan, Store, StoreError
from ablations.trial import PlannedMeasure, Trial, measure_trial
from registry.catalog import Catalog
from registry.contracts import Execution, Executor, Outcome
from registry.errors import InvalidOptions

CHECKPOINTS = "checkpoints"
"""The folder in a run directory where trials that still run keep how far they got."""

FINAL = frozenset({"done", "diverged", "skipped"})
"""States that a resumed run keeps: what these trials had to tell is told."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a run did; `states` counts its trials, each in the worst state of its measures.

    `reused` counts the trials that the directory already held whole; `stopped` says that
    `fail_fast` ended the run before all trials were carried out.
    """

    out: Path
    trials: int
    reused: int
    states: Counter[str] = field(default_factory=Counter)
    stopped: bool = False
    aside: Path | None = None
    """Where `fresh` moved the run that was there."""
    seconds: float = 0.0
    report: Path | None = None
    faulty: Mapping[str, str] = field(default_factory=dict)
    """Components that read the future or break a contract of their kind, and how."""
    warned: tuple[str, ...] = ()
    """Of each trial of this run that warned its first warning; the log and the report have all."""
    unfollowed: Mapping[str, str] = field(default_factory=dict)
    """What plugins that follow a run raised, by plugin; they were told no more of it."""

    @property
    def failed(self) -> int:
        """Trials of this run that failed, crashed or ran out of time."""
        return sum(count for state, count in self.states.items() if state not in FINAL)


def run(
    grid: Grid,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    executor: str = "local",
    fresh: bool = False,
    fail_fast: bool = False,
    verbose: bool = False,
    catalog: Catalog | None = None,
    started: Callable[[int, int], None] | None = None,
    ended: Callable[[str], None] | None = None,
) -> RunSummary:
    """Carry a grid out into `out` (default `runs/NAME`), resuming what it holds, and report.

    `workers` defaults to the cores this process may use. `fresh` moves an old run aside first.
    `started` is called with the number of trials to do and of those reused, `ended` with the state
    of each trial as it ends. Plugins that follow runs are told as `registry.hookspecs` says. What
    happens is told in DIR/log.jsonl, and if `verbose` on stderr, as `ablations.log` says.

    Raises: GridError; UnknownName for the executor; InvalidOptions for what it would ignore;
    StoreError; ExecutorError; MissingExtra for a plugin that is to follow and cannot. After
    KeyboardInterrupt all that ended is kept, and the same call resumes.
    """
    require_main_guard()
    begun = time.monotonic()
    catalog = catalog or grid.catalog
    chosen = catalog.choose(catalog.executor(executor), {}).load()()
    execution = _execution(grid, chosen, executor, workers)
    planned = plan(grid, catalog=catalog)
    out = Path(out) if out is not None else Path("runs") / grid.name
    recorded = run_plan(planned, executor=executor, execution=execution, out=out)
    aside = move_aside(out) if fresh else None
    states: Counter[str] = Counter()
    stopped = False
    with Followers(catalog) as followers:
        with Store.create_or_open(out) as store, RunLog(out, verbose=verbose) as log:
            store.begin(recorded)
            checkpoints = str((out / CHECKPOINTS).resolve())
            trials = [
                replace(trial, checkpoints=checkpoints)
                for trial in _missing_trials(planned, recorded, store.known())
            ]
            reused = planned.trials - len(trials)
            log.started(planned, recorded, reused=reused)
            labels = {entry.cell.cell: entry.cell.label for entry in planned.cells}
            followers.started(run_info(planned, store, reused=reused))
            if started:
                started(len(trials), reused)
            cache = Cache()
            unknown = sorted(recorded.examinations.keys() - store.conformities().keys())
            cached = dict(cache.found(unknown))
            store.keep_conformities(cached)
            examinations = [recorded.examinations[key] for key in unknown if key not in cached]
            outcomes = chosen.execute(chain(examinations, trials), carry_out, execution)
            with closing(outcomes):
                for outcome in outcomes:
                    if isinstance(outcome.trial, Examination):
                        conformity = conformity_of(outcome)
                        store.keep_conformities({outcome.trial.key: conformity})
                        cache.keep(outcome.trial.key, conformity)
                        continue
                    result = _result(outcome)
                    store.record(result)
                    log.trial(result, labels[result.cell])
                    _discard_checkpoints(checkpoints, result)
                    followers.trial(store, result.cell, result.seed)
                    state = worst(measure.state for measure in result.measures)
                    states[state] += 1
                    if ended:
                        ended(state)
                    if fail_fast and state not in FINAL:
                        stopped = True
                        break
            faulty = _faulty(recorded, store.conformities())
            log.ended("stopped" if stopped else "done", states, faulty, followers.failures)
        report = write_report(out)
        followers.ended("stopped" if stopped else "done", report)
    return RunSummary(
        out=out,
        trials=planned.trials,
        reused=reused,
        states=states,
        stopped=stopped,
        aside=aside,
        report=report,
        faulty=faulty,
        warned=tuple(log.warned),
        unfollowed=followers.failures,
        seconds=time.monotonic() - begun,
    )


def _faulty(recorded: RunPlan, known: Mapping[str, Conformity]) -> dict[str, str]:
    found = {
        f"{examination.kind} {examination.choice.label}": known[key]
        for key, examination in recorded.examinations.items()
        if key in known
    }
    return {name: c.text for name, c in sorted(found.items()) if c.leaks or not c.passed}


def carry_out(task: Trial | Examination) -> TrialResult | Conformity:
    """What a worker does: measure a trial, or examine a component."""
    return examine(task) if isinstance(task, Examination) else measure_trial(task)


def _execution(grid: Grid, chosen: Executor, name: str, workers: int | None) -> Execution:
    """How to carry trials out. Raises: InvalidOptions for what the executor would ignore."""
    in_process = bool(getattr(chosen, "in_process", False))
    ignored = []
    if in_process and grid.timeout is not None:
        ignored.append("the grid's timeout, since it cannot stop a trial")
    if in_process and workers not in (None, 1):
        ignored.append(f"{workers} workers, since it is this process alone")
    if ignored:
        raise InvalidOptions(
            (None, f"executor {name!r} would ignore {what}; choose 'local' or leave it out")
            for what in ignored
        )
    return Execution(
        workers=workers or (1 if in_process else usable_cores()),
        threads=grid.threads,
        timeout=grid.timeout,
    )


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def move_aside(out: Path) -> Path | None:
    """Rename an old run directory, so that nothing in it is lost; returns its new path.

    Raises: RunLocked while another process runs in it; StoreError for a directory of other things.
    """
    if not out.exists() or not any(out.iterdir()):
        return None
    if not (out / FILE).exists():
        raise StoreError(f"{out} holds no run, so it is not moved aside: choose another directory")
    RunLock(out).release()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = out.with_name(f"{out.name}.{stamp}")
    count = 1
    while aside.exists():
        count += 1
        aside = out.with_name(f"{out.name}.{stamp}-{count}")
    out.rename(aside)
    return aside


def _missing_trials(
    planned: Plan, recorded: RunPlan, known: dict[tuple[str, int, str], tuple[str, str]]
) -> Iterator[Trial]:
    """Trials whose measures the store does not hold under the identity that is asked for.

    Seeds come first, so that an unfinished run has whole cells to compare. Static measures come
    last, so that they count the decoder that the others had built.
    """
    specs = {asked.choice.name: asked.spec for asked in planned.grid.measures}
    against = {name for name, spec in specs.items() if spec.against_baseline}
    baseline = planned.baseline
    for seed in planned.grid.seeds:
        for entry in planned.running:
            cell = entry.cell
            assert cell.architecture is not None, "a cell without an architecture is skipped"
            measures = tuple(
                PlannedMeasure(
                    choice=choice,
                    identity=identity,
                    declared=specs[choice.name].declared,
                    infinite=specs[choice.name].infinite,
                    static=specs[choice.name].mode == "static",
                )
                for choice in sorted(cell.measures, key=lambda c: specs[c.name].mode == "static")
                for identity in [recorded.identities[cell.cell, choice.name]]
                if not _kept(known.get((cell.cell, seed, choice.name)), identity)
            )
            if measures:
                yield Trial(
                    cell=cell.cell,
                    seed=seed,
                    architecture=cell.architecture,
                    measures=measures,
                    dtype=planned.grid.dtype,
                    stream=cell.stream,
                    baseline=baseline if any(m.choice.name in against for m in measures) else None,
                )


def _discard_checkpoints(folder: str, result: TrialResult) -> None:
    """Remove the checkpoints of what has ended for good."""
    for measure in result.measures:
        if measure.state in FINAL:
            checkpoint_of(
                folder,
                cell=result.cell,
                seed=result.seed,
                measure=measure.measure,
                identity=measure.identity,
            ).discard()
    with contextlib.suppress(OSError):  # another trial's is still in it
        Path(folder).rmdir()


def _kept(held: tuple[str, str] | None, identity: str) -> bool:
    return held is not None and held[0] == identity and held[1] in FINAL


def _result(outcome: Outcome) -> TrialResult:
    """The trial's result, or one that says for each of its measures why there is none."""
    if outcome.state == "done":
        result: Any = outcome.result
        assert isinstance(result, TrialResult)
        return result
    trial: Trial = outcome.trial
    return TrialResult(
        cell=trial.cell,
        seed=trial.seed,
        measures=tuple(
            MeasureResult(
                measure=planned.choice.name,
                identity=planned.identity,
                state=outcome.state,
                message=outcome.message,
                traceback=outcome.traceback,
            )
            for planned in trial.measures
        ),
    )
