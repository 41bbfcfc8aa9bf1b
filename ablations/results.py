"""What a worker sends back of a trial: plain, frozen and picklable, without torch or pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "diverged", "failed", "crashed", "timeout", "skipped"]

WORST_FIRST: tuple[State, ...] = (
    "crashed",
    "timeout",
    "failed",
    "diverged",
    "skipped",
    "done",
)

FINAL: frozenset[str] = frozenset({"done", "diverged", "skipped"})
"""States that a resumed run keeps: what these trials had to tell is told."""


def worst(states: Iterable[str]) -> str:
    """The state of a trial: the worst of its measures'."""
    return min(states, key=WORST_FIRST.index)


@dataclass(frozen=True, kw_only=True)
class ProfileValues:
    """A row of numbers along an axis: `values[i]` at `positions[i]`, and at training step
    `steps[i]` where a profile is taken more than once (`steps` is empty otherwise).

    Raises: ValueError if the lengths differ, or if a place has two values.
    """

    axis: Literal["depth", "step", "context"]
    positions: tuple[int, ...]
    values: tuple[float, ...]
    steps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.positions), len(self.values), len(self.steps or self.values)}
        if len(lengths) > 1:
            raise ValueError(
                f"a profile has as many positions (and steps, if any) as values, not "
                f"{len(self.positions)} (and {len(self.steps)}) for {len(self.values)}"
            )
        places = list(zip(self.steps or self.positions, self.positions, strict=True))
        if len(set(places)) < len(places):
            raise ValueError("a profile has one value at each position (and step, if any)")

    @classmethod
    def along(
        cls, axis: Literal["depth", "step", "context"], values: Iterable[float]
    ) -> ProfileValues:
        """The values at positions 0, 1, 2, …"""
        return cls.at(axis, dict(enumerate(values)))

    @classmethod
    def at(
        cls, axis: Literal["depth", "step", "context"], values: Mapping[int, float]
    ) -> ProfileValues:
        """The values by their positions."""
        return cls(axis=axis, positions=tuple(values), values=tuple(values.values()))


@dataclass(frozen=True, kw_only=True)
class ArrayValues:
    """An array as bytes in C order; `dtype` is numpy's name with its byte order, `"<f4"`."""

    shape: tuple[int, ...]
    dtype: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class MeasureResult:
    """What became of one measure of a trial.

    `identity` tells what the result depends on: a result is reused where the identity planned is
    the same. The names of metrics, profiles and arrays are full: `"parameters.total"`.
    """

    measure: str
    identity: str
    state: State
    message: str = ""
    traceback: str = ""
    marks: tuple[str, ...] = ()
    seconds: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    profiles: Mapping[str, ProfileValues] = field(default_factory=dict)
    arrays: Mapping[str, ArrayValues] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What it warned of, each once."""


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What became of a trial: of those of its measures that were to be done."""

    cell: str
    seed: int
    measures: tuple[MeasureResult, ...]
