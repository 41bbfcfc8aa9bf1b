"""The hooks that a plugin may implement; each is optional.

Those named `register_…` return a list of specs and are called once a command. The others follow a
run: they are called in the process that was started, one after the other, and take those of the
arguments that they name. What one of them raises switches that plugin's hooks off for the rest of
the run and is told; the run goes on. The time that they take is the run's.

A plugin may state which version of this interface it was written for with an attribute
`ablations_api = 1`; one that states another than `API_VERSION` is not loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pluggy

from registry.events import RunInfo, TrialInfo
from registry.spec import ComponentSpec, ExecutorSpec, MeasureSpec

API_VERSION = 1
"""Raised by a change of hooks, specs or contracts that breaks a plugin."""

ENTRY_POINT_GROUP = "ablations"

hookspec = pluggy.HookspecMarker("ablations")
hookimpl = pluggy.HookimplMarker("ablations")


@hookspec
def register_components() -> Iterable[ComponentSpec]:  # type: ignore[empty-body]
    """Return the components that this plugin offers."""


@hookspec
def register_measures() -> Iterable[MeasureSpec]:  # type: ignore[empty-body]
    """Return the measures that this plugin offers."""


@hookspec
def register_executors() -> Iterable[ExecutorSpec]:  # type: ignore[empty-body]
    """Return the executors that this plugin offers."""


@hookspec
def run_started(run: RunInfo) -> bool | None:
    """Hear of a run before its first trial; return False to hear no more of it.

    A plugin that was asked to follow and lacks a library raises `registry.MissingExtra`, and
    nothing is run.
    """


@hookspec
def trial_finished(run: RunInfo, trial: TrialInfo) -> None:
    """Hear of a trial that has ended, once its results are on the disk.

    Trials that a resumed run reuses are not told here.
    """


@hookspec
def run_finished(run: RunInfo, trials: Sequence[TrialInfo]) -> None:
    """Hear how a run that was told as started has ended, after its report has been written.

    `trials` holds all trials of the grid that have results, in its order, reused ones among them.
    It is called for an interrupted run as well, but not when the process is killed.
    """
