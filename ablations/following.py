"""The plugins that follow a run: each is told what happened, and none can break or bend it."""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ablations.planning import Plan
from ablations.store import Store, StoreError
from registry.catalog import Catalog
from registry.errors import MissingExtra, describe
from registry.events import RunInfo, RunState, TrialInfo

log = logging.getLogger(__name__)


def run_info(planned: Plan, store: Store, *, reused: int) -> RunInfo:
    """A run that is about to begin, as those hear of it who follow it."""
    grid = planned.grid
    return RunInfo(
        id=store.id,
        name=grid.name,
        out=store.directory,
        grid=grid.text,
        factors={f.name: tuple(level.label for level in f.levels) for f in grid.factors},
        baseline=dict(grid.baseline),
        seeds=grid.seeds,
        measures=tuple(measure.choice.name for measure in grid.measures),
        trials=planned.trials,
        reused=reused,
    )


class Followers:
    """Tells the plugins of a catalog what becomes of one run.

    A context manager around the run: whoever was told of its start is told of its end, also where
    an exception ends it. Results are in the run directory whatever a follower does; so what one
    raises does not touch the run's own outcome, nor its exit status: it is kept in `failures`, by
    plugin, told once on the log, and the plugin hears no more of this run.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.failures: dict[str, str] = {}
        self._hooks: dict[str, Mapping[str, Callable[..., Any]]] = {
            record.name: record.follows for record in catalog.plugins if record.follows
        }
        self._run: RunInfo | None = None

    def __enter__(self) -> Followers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.ended("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")

    def started(self, run: RunInfo) -> None:
        """Tell of the run, before its first trial.

        Raises: MissingExtra, from a plugin that was asked to follow and cannot.
        """
        self._run = run
        for name in list(self._hooks):
            if False in self._tell(name, "run_started", run=run):
                del self._hooks[name]

    def trial(self, store: Store, cell: str, seed: int) -> None:
        """Tell of a trial that the store holds."""
        if self._hooks:
            for trial in store.trials((cell, seed)):
                for name in list(self._hooks):
                    self._tell(name, "trial_finished", run=self._run, trial=trial)

    def ended(self, state: RunState, report: Path | None = None) -> None:
        """Tell of the run's end, once, if it had been told of."""
        run, self._run = self._run, None
        if run is None or not self._hooks:
            return
        run = replace(run, state=state, report=report)
        trials: list[TrialInfo] = []
        with contextlib.suppress(StoreError), Store.open_readonly(run.out) as store:
            trials = store.trials()
        for name in list(self._hooks):
            self._tell(name, "run_finished", run=run, trials=trials)

    def _tell(self, name: str, hook: str, **arguments: Any) -> list[Any]:
        """What one plugin's implementations of a hook return; each plugin is told on its own copy.

        A plugin that raises is dropped.
        """
        call = self._hooks[name].get(hook)
        if call is None:
            return []
        try:
            return list(call(**copy.deepcopy(arguments)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a stranger's code may even call sys.exit
            if isinstance(error, MissingExtra) and hook == "run_started":
                raise
            del self._hooks[name]
            self.failures[name] = f"{hook} raised {describe(error)}"
            log.warning("plugin %s follows this run no more: %s", name, self.failures[name])
            return []
