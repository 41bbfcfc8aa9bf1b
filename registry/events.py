"""What the hooks that follow a run are told: plain frozen data, importable without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

RunState = Literal["running", "done", "stopped", "interrupted", "failed"]


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """A grid that is being carried out, as it is when the hook is called.

    `id` names the run directory: it stays the same when the run is resumed, and a run begun afresh
    in its place has another. `out` is that directory, `grid` the text of the grid, `factors` the
    labels of each factor's levels in order, `baseline` the label that each is compared with.
    `trials` counts the trials of the grid, `reused` those of them that were there already, whole.

    `state` is *running* until the run has ended, then *done* (every trial was carried out, also
    where some of them failed), *stopped* (at the first trial that failed, as asked for),
    *interrupted* (Ctrl-C) or *failed* (an error ended the run itself). `report` is the page's path
    once this run has written it.
    """

    id: str
    name: str
    out: Path
    grid: str
    factors: Mapping[str, tuple[str, ...]]
    baseline: Mapping[str, str]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    trials: int
    reused: int = 0
    state: RunState = "running"
    report: Path | None = None


@dataclass(frozen=True, kw_only=True)
class TrialInfo:
    """A trial as the run directory holds it, with the measures that it has so far.

    `cell` is the hash of what is measured, the same in every run; `levels` has the label of its
    level for each factor. `states` and `messages` tell of each measure, `state` is the worst of
    them: done, skipped, diverged, failed, timeout or crashed. The names of `metrics` are full
    (`"parameters.total"`); NaN and infinity are results. `marks` are those of all its measures,
    `seconds` what they took together. Profiles and arrays are in the run directory.
    """

    cell: str
    label: str
    levels: Mapping[str, str]
    seed: int
    state: str
    states: Mapping[str, str]
    messages: Mapping[str, str]
    metrics: Mapping[str, float]
    marks: tuple[str, ...]
    seconds: float
