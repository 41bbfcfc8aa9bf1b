"""A grid carried out into a run directory: plan, execute, record, resume, report."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ablations import library
from ablations.beforehand import Beforehand
from ablations.blocks import View
from ablations.checkpoints import CheckpointFolder, checkpoint_of
from ablations.conformity import Conformity
from ablations.examining import Examination, examine
from ablations.execution import chosen_executor, device_of, execution_of
from ablations.executors import require_main_guard
from ablations.following import Followers, run_info
from ablations.grid import Grid
from ablations.log import RunLog
from ablations.planning import plan
from ablations.record import run_plan
from ablations.results import FINAL, MeasureResult, TrialResult
from ablations.resuming import Standing, missing_trials, standing
from ablations.storage.aside import Aside
from ablations.store import Store
from ablations.tally import Tally
from ablations.trial import Trial, measure_trial
from ablations.viewing import Viewing, view
from ablations.weight_bank import bound_in_mib
from registry.catalog import Catalog
from registry.contracts import Outcome

CHECKPOINTS = "checkpoints"
"""The folder in a run directory where trials that still run keep how far they got."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a run did; `states` counts its trials, each in the worst state of its measures.

    `standing` says what the directory already held, and `reasons` why trials were lost, each with
    its state and the number of them. `stopped` says that `fail_fast` ended the run before all
    trials were carried out.
    """

    out: Path
    trials: int
    standing: Standing = field(default_factory=Standing)
    states: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
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
    def reused(self) -> int:
        """Trials that the directory already held whole."""
        return self.standing.reused

    @property
    def failed(self) -> int:
        """Trials that raised."""
        return self.states["failed"]

    @property
    def lost(self) -> int:
        """Trials without a result in the report: failed, crashed, out of time, or left as such."""
        ended = sum(count for state, count in self.states.items() if state not in FINAL)
        return ended + self.standing.left.total()


def write_report(out: Path) -> Path:
    """The report of a run that this process looked through as it began, and wrote on since."""
    return library.write_report(out, whole=False)


def run(
    grid: Grid,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    executor: str | None = None,
    address: str | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    retry_failed: bool = True,
    verbose: bool = False,
    catalog: Catalog | None = None,
    started: Callable[[Standing], None] | None = None,
    ended: Callable[[str], None] | None = None,
    told: Callable[[str], None] | None = None,
) -> RunSummary:
    """Carry a grid out into `out` (default `runs/NAME`), resuming what it holds, and report.

    `executor` is that of the grid, else `local`, if none is named; `address` is where one that
    has such an option finds its cluster. `workers` defaults to what `ablations.parallel` chooses
    for this machine, or to what an executor elsewhere says. `fresh` moves an old run aside, and
    back if this one is refused before it begins. `retry_failed` says whether trials that failed,
    crashed or ran out of time are tried again. `started` is called with what the directory holds,
    `ended` with the state of each trial as it ends, `told` with what there is to tell of cores and
    of nodes elsewhere. Plugins that follow runs are told as `registry.hookspecs` says. What happens
    is told in DIR/log.jsonl, and if `verbose` on stderr, as `ablations.log` says.

    Raises: GridError; UnknownName for the executor; InvalidOptions for what it would ignore;
    NoDevice; StoreError; ExecutorError; MissingExtra for an executor, or a plugin that is to
    follow and cannot. After KeyboardInterrupt all that ended is kept, and the same call resumes.
    """
    require_main_guard()
    bound_in_mib()  # refused here rather than by every trial
    begun = time.monotonic()
    catalog = catalog or grid.catalog
    choice = chosen_executor(grid, catalog, executor, address)
    chosen = choice.load()(**choice.options)
    planned = plan(grid, catalog=catalog)
    execution, where = execution_of(grid, chosen, choice.name, workers, planned.workers.number)
    out = Path(out) if out is not None else Path("runs") / grid.name
    recorded = run_plan(planned, executor=choice.name, execution=execution, out=out, where=where)
    tally = Tally()
    stopped = False
    # The old run comes back last, when nobody has the new one open or asks about it.
    with Aside(out, wanted=fresh) as aside, Followers(catalog) as followers:
        with Store.create_or_open(out) as store, RunLog(out, verbose=verbose) as log:
            store.begin(recorded)
            known = store.known()
            held = standing(planned, recorded, known, retry_failed=retry_failed)
            log.started(planned, recorded, reused=held.reused)
            followers.started(run_info(planned, store, reused=held.reused))
            aside.settle()
            if started:
                started(held)
            checkpoints = CheckpointFolder(path=str((out / CHECKPOINTS).resolve()), key=store.key)
            trials = missing_trials(
                planned,
                recorded,
                known,
                retry_failed=retry_failed,
                checkpoints=checkpoints,
                memory=execution.memory,
                device=device_of(where),
            )
            keeping = _Keeping(store, log, followers, tally, checkpoints)
            beforehand = Beforehand(recorded, store, log)
            first = beforehand.waiting(retry_failed=retry_failed)
            if execution.workers == planned.workers.number and planned.workers.hint:
                _tell(log, told, planned.workers.hint)
            if hasattr(chosen, "follow"):
                chosen.follow(partial(_tell, log, told))
            outcomes = chosen.execute(chain(first, trials), carry_out, execution)
            with closing(outcomes):
                for outcome in outcomes:
                    if not isinstance(outcome.trial, Trial):
                        beforehand.keep(outcome)
                        continue
                    state = keeping.trial(_result(outcome))
                    if ended:
                        ended(state)
                    if fail_fast and state not in FINAL:
                        stopped = True
                        break
            faulty = beforehand.faulty()
            log.ended("stopped" if stopped else "done", tally.states, faulty, followers.failures)
        report = write_report(out)
        followers.ended("stopped" if stopped else "done", report)
    return RunSummary(
        out=out,
        trials=planned.trials,
        standing=held,
        states=tally.states,
        reasons=tally.reasons,
        stopped=stopped,
        aside=aside.path,
        report=report,
        faulty=faulty,
        warned=tuple(log.warned),
        unfollowed=followers.failures,
        seconds=time.monotonic() - begun,
    )


class _Keeping:
    """Keeps the result of each trial as it ends, and tells all who are to hear of it."""

    def __init__(
        self,
        store: Store,
        log: RunLog,
        followers: Followers,
        tally: Tally,
        checkpoints: CheckpointFolder,
    ) -> None:
        self._store = store
        self._log = log
        self._followers = followers
        self._tally = tally
        self._checkpoints = checkpoints

    def trial(self, result: TrialResult) -> str:
        """Record a result; returns the trial's state."""
        self._store.record(result)
        self._log.trial(result, self._store.label(result.cell))
        _discard_checkpoints(self._checkpoints, result)
        self._followers.trial(self._store, result.cell, result.seed)
        return self._tally.add(result)


def carry_out(task: Trial | Examination | Viewing) -> TrialResult | Conformity | View:
    """What a worker does: measure a trial, examine a component, or see how a block is wired."""
    if isinstance(task, Examination):
        return examine(task)
    return view(task) if isinstance(task, Viewing) else measure_trial(task)


def _tell(log: RunLog, told: Callable[[str], None] | None, line: str) -> None:
    log.tell("executor told", message=line)
    if told:
        told(line)


def _discard_checkpoints(folder: CheckpointFolder, result: TrialResult) -> None:
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
        Path(folder.path).rmdir()


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
