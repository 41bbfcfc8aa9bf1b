"""The figures that a measure yields: what each is called, its unit, and how it is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from registry.checks import check_name, check_text, check_word
from registry.errors import InvalidSpec, nearest

Better = Literal["higher", "lower", "neither"]
Scale = Literal["linear", "log"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One number that a measure yields for a trial; reported as `measure.name`.

    `scale="log"` compares by ratios, `"linear"` by differences; `primary` metrics are the ones a
    conclusion may rest on (their main effects are Holm-adjusted together). `scales_with` names the
    metric of the same measure in whose units this one changes: where levels differ in that size,
    a difference here may show nothing else, and the report says so.

    `defined_when_diverged` says that the value means the same in a trial that diverged, as whether
    it learnt: there it is compared too. `may_be_infinite` says that infinity is a value like
    others, as of the steps to a loss that was never reached: the trial is not taken for diverged,
    and the value is lost to means and last in ranks. `compared=False` says that the value depends
    on what else the machine did, as a speed: it is kept and never compared.
    """

    name: str
    unit: str
    summary: str
    better: Better = "neither"
    scale: Scale = "linear"
    primary: bool = False
    convention: str = ""
    scales_with: str = ""
    defined_when_diverged: bool = False
    may_be_infinite: bool = False
    compared: bool = True

    def __post_init__(self) -> None:
        check_name(self.name, "metric")
        of = f"metric {self.name!r}"
        _check_texts(of, self)
        if self.primary and not self.compared:
            raise InvalidSpec(f"{of} cannot be primary and never compared")
        check_word(self.better, get_args(Better), f"better end of {of}")
        check_word(self.scale, get_args(Scale), f"scale of {of}")


Axis = Literal["depth", "step", "context"]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A row of numbers along depth, training steps or context; reported as `measure.name`.

    `scales_with` names a metric of the measure, as a `Metric`'s does.
    """

    name: str
    unit: str
    summary: str
    axis: Axis
    scale: Scale = "linear"
    convention: str = ""
    scales_with: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "profile")
        of = f"profile {self.name!r}"
        _check_texts(of, self)
        check_word(self.axis, get_args(Axis), f"axis of {of}")
        check_word(self.scale, get_args(Scale), f"scale of {of}")


def check_scales(metrics: Sequence[Metric], profiles: Sequence[Profile], of: str) -> None:
    """Refuse a figure that scales with what is no other metric of the same measure."""
    names = [metric.name for metric in metrics]
    for form, entries in (("metric", metrics), ("profile", profiles)):
        for entry in entries:
            others = [name for name in names if form != "metric" or name != entry.name]
            if entry.scales_with and entry.scales_with not in others:
                raise InvalidSpec(
                    f"{form} {entry.name!r} of {of} scales with {entry.scales_with!r}, which is "
                    f"none of its other metrics; {nearest(entry.scales_with, others)}"
                )


def _check_texts(of: str, entry: Metric | Profile) -> None:
    check_text(
        of,
        unit=entry.unit,
        summary=entry.summary,
        convention=entry.convention,
        scales_with=entry.scales_with,
    )
