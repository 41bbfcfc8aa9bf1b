"""One run of this tool as MLflow shows it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

# Without these MLflow knows no database, and says that its URI is not supported.
import alembic  # noqa: F401
import sqlalchemy  # noqa: F401
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException

from registry import RunInfo, TrialInfo

PARENT = "mlflow.parentRunId"
"""The tag by which MLflow shows one run below another."""

STATUS = {"done": "FINISHED", "stopped": "FAILED", "interrupted": "KILLED", "failed": "FAILED"}

AT_ONCE = 900
"""Metrics in a request; MLflow takes 1000 values of all kinds."""


class MlflowRun:
    """An MLflow run, and below it a child for each trial.

    The experiment is `MLFLOW_EXPERIMENT_NAME`, else the grid's name. The run is found again by its
    tag `ablations.run` when it is resumed. At its end it has the states of its trials as a tag, and
    the grid and the report as artifacts.

    A child has the levels and the seed as params, the metrics and `seconds`, and the tags
    `ablations.cell`, `.state`, `.marks`, `.messages` and `.not_finite`. The last names metrics that
    are NaN or infinite, which are not logged as metrics: MLflow's databases keep an infinity as the
    largest finite number, and in some versions a search for small values finds a NaN.

    A cell and seed has one child, its last result: one that was measured anew replaces the old one,
    which goes to MLflow's bin. So a run that MLflow did not hear of, or not whole, is made up for
    when the same grid is run again.
    """

    def __init__(self, run: RunInfo) -> None:
        self._client = MlflowClient()
        # Before the first request: MLflow tries for minutes to reach a server that is not there.
        where = re.sub("//[^/@]*@", "//", self._client.tracking_uri)
        print(f"MLflow follows this run, at {where}", file=sys.stderr, flush=True)
        self._experiment = self._experiment_named(
            os.environ.get("MLFLOW_EXPERIMENT_NAME") or run.name
        )
        known = next(self._search(f"tags.`ablations.run` = '{run.id}'"), None)
        if known is None:
            known = self._client.create_run(
                self._experiment, run_name=run.out.name, tags={"ablations.run": run.id}
            )
        self._run: str = known.info.run_id
        self._client.update_run(self._run, status="RUNNING")
        self._children: dict[tuple[str, str], tuple[str, str]] = {}
        for child in self._search(f"tags.`{PARENT}` = '{self._run}'"):
            tags = child.data.tags
            key = tags.get("ablations.cell", ""), tags.get("ablations.seed", "")
            self._children[key] = (child.info.run_id, tags.get("ablations.digest", ""))

    def log(self, trial: TrialInfo) -> None:
        """Log a trial, unless MLflow has it as it is."""
        key = trial.cell, str(trial.seed)
        told, digest = self._children.get(key, ("", "")), _digest(trial)
        if told[1] == digest:
            return
        if told[0]:  # first: cut off in between, the trial is missing and made up for, not double
            self._client.delete_run(told[0])
        end = round(time.time() * 1000)
        child = self._client.create_run(
            self._experiment,
            start_time=end - round(trial.seconds * 1000),
            run_name=f"{trial.label}, seed {trial.seed}",
            tags={PARENT: self._run, "ablations.cell": key[0], "ablations.seed": key[1]},
        ).info.run_id
        finite = {name: value for name, value in trial.metrics.items() if math.isfinite(value)}
        metrics = [Metric(n, v, end, 0) for n, v in {**finite, "seconds": trial.seconds}.items()]
        for first in range(AT_ONCE, len(metrics), AT_ONCE):
            self._client.log_batch(child, metrics=metrics[first : first + AT_ONCE])
        self._client.log_batch(
            child,
            metrics=metrics[:AT_ONCE],
            params=[Param(name, level) for name, level in trial.levels.items()]
            + [Param("seed", str(trial.seed))],
            tags=[RunTag(name, value) for name, value in _tags(trial).items()],
        )
        told_all = trial.state in ("done", "diverged", "skipped")
        with contextlib.redirect_stdout(io.StringIO()):  # a server's link for each of them
            self._client.set_terminated(child, "FINISHED" if told_all else "FAILED")
        self._client.set_tag(child, "ablations.digest", digest)  # last: it says that all is there
        self._children[key] = (child, digest)

    def end(self, run: RunInfo, trials: Sequence[TrialInfo]) -> None:
        """Log the trials that MLflow does not have, the grid and the report; end the run."""
        for trial in trials:
            self.log(trial)
        states = Counter(trial.state for trial in trials)
        counts = [f"{count} {state}" for state, count in sorted(states.items())]
        missing = run.trials - len(trials)
        told = ", ".join([*counts, f"{missing} missing"] if missing else counts)
        self._client.set_tag(self._run, "ablations.trials", told)
        self._client.log_text(self._run, run.grid, "grid.yaml")
        if run.report is not None:
            self._client.log_artifact(self._run, str(run.report))
        self._client.set_terminated(self._run, STATUS[run.state])

    def _experiment_named(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(self._client.create_experiment(name))
            except MlflowException:  # another run has just made it
                found = self._client.get_experiment_by_name(name)
                if found is None:
                    raise
        return str(found.experiment_id)

    def _search(self, which: str) -> Iterator[Run]:
        token = None
        while True:
            page = self._client.search_runs([self._experiment], which, page_token=token)
            yield from page
            token = page.token
            if not token:
                return


def _tags(trial: TrialInfo) -> dict[str, str]:
    """What a person searches trials by; empty ones are left out."""
    odd = [f"{n} {v}" for n, v in trial.metrics.items() if not math.isfinite(v)]
    tags = {
        "state": trial.state,
        "marks": ", ".join(trial.marks),
        "messages": "; ".join(f"{name}: {text}" for name, text in trial.messages.items()),
        "not_finite": ", ".join(odd),
    }
    return {f"ablations.{name}": value for name, value in tags.items() if value}


def _digest(trial: TrialInfo) -> str:
    """What tells a result from an earlier one of the same cell and seed."""
    return hashlib.sha256(json.dumps(asdict(trial), sort_keys=True).encode()).hexdigest()[:16]
