"""MLflow follows the runs that are started with `ABLATIONS_MLFLOW=1`.

This module is what discovery imports, for every command: MLflow itself is imported with
`ablations.trackers.mlflow_run`, when a run is followed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from registry import MissingExtra, RunInfo, TrialInfo, hookimpl
from registry.errors import describe

if TYPE_CHECKING:
    from ablations.trackers.mlflow_run import MlflowRun

ASKED = "ABLATIONS_MLFLOW"
_OFF, _ON = ("", "0", "false", "no"), ("1", "true", "yes")


class MlflowTracker:
    """Tells MLflow of runs: where, says MLflow's own `MLFLOW_TRACKING_URI`.

    That variable alone asks for nothing, since people set it for all they do. A run of this tool is
    one MLflow run with a child for each trial; `MlflowRun` says what is in them.
    """

    def __init__(self) -> None:
        self._followed: dict[str, MlflowRun] = {}

    @hookimpl
    def run_started(self, run: RunInfo) -> bool:
        """Open the MLflow run, if MLflow is asked for.

        Raises: MissingExtra where MLflow, or what it needs for that tracking URI, is not installed.
        """
        asked = os.environ.get(ASKED, "").strip().lower()
        if asked not in (*_OFF, *_ON):
            raise ValueError(f"{ASKED} is 1 or 0, not {os.environ[ASKED]!r:.80}")
        if asked in _OFF:
            return False
        try:
            from ablations.trackers.mlflow_run import MlflowRun

            self._followed[run.id] = MlflowRun(run)
        except ImportError as error:
            raise MissingExtra(
                f"{ASKED}={asked} asks for MLflow, which does not load ({describe(error)}): "
                "python -m pip install 'ablations[mlflow]'"
            ) from error
        return True

    @hookimpl
    def trial_finished(self, run: RunInfo, trial: TrialInfo) -> None:
        """Log the trial as a child."""
        self._followed[run.id].log(trial)

    @hookimpl
    def run_finished(self, run: RunInfo, trials: Sequence[TrialInfo]) -> None:
        """Log what MLflow has not heard of yet, and end the MLflow run."""
        self._followed.pop(run.id).end(run, trials)


tracker = MlflowTracker()
