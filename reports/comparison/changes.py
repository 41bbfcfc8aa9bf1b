"""What two runs were made of, and where that differs."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from reports.comparison.compared_run import ComparedRun
from reports.frames import Frames
from reports.pairs import levels_by_factor
from reports.records import records
from reports.wording import listed

NOT_THERE = "—"
OF_METRICS = ("unit", "scale", "better", "primary", "convention")
"""What is told of a metric or profile where it changed."""

MAX_NAMED = 4
"""Metrics that are named where the same changed of several."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is not the same in both runs; `NOT_THERE` where a run does not have it."""

    part: str
    what: str
    first: str
    second: str


def changes(first: ComparedRun, second: ComparedRun) -> list[Change]:
    """Everything that differs, by part: grid, settings, components, environment, metrics."""
    measures = [set(run.frames.metric_info["measure"]) for run in (first, second)]
    alone = measures[0] ^ measures[1]
    settings = [_settings(run.frames, alone) for run in (first, second)]
    return [
        *_differing("grid", _grid(first.frames), _grid(second.frames)),
        *_differing("setting", *settings),
        *_differing("component", _components(first), _components(second)),
        *_differing("environment", _environment(first.frames), _environment(second.frames)),
        *_metrics(first.frames, second.frames),
    ]


def same_environment(first: Frames, second: Frames) -> bool:
    """Whether nothing is known to differ that measured times may depend on."""
    of_settings = [{key: _settings(f).get(key) for key in _ON_WHICH} for f in (first, second)]
    apart = _differing("environment", _environment(first), _environment(second))
    return of_settings[0] == of_settings[1] and all(one.what == "command" for one in apart)


_ON_WHICH = ("device", "dtype", "threads")


def _differing(part: str, first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Change]:
    for what in dict.fromkeys([*first, *second]):
        one, other = first.get(what, NOT_THERE), second.get(what, NOT_THERE)
        if one != other:
            yield Change(part=part, what=what, first=one, second=other)


def _grid(frames: Frames) -> dict[str, str]:
    """Its name, and by factor the levels, the baseline first."""
    levels = {f"factor {f}": ", ".join(names) for f, names in levels_by_factor(frames).items()}
    measures = sorted(frames.metric_info["measure"].unique())
    seeds = sorted(int(seed) for seed in frames.trials["seed"].unique())
    return {
        "name": frames.name,
        **levels,
        "cells": f"{len(frames.cells):,}",
        "seeds": ", ".join(map(str, seeds)),
        "measures": ", ".join(map(str, measures)),
    }


def _settings(frames: Frames, without: Collection[str] = ()) -> dict[str, str]:
    """Every setting that is no factor, but for seeds and the options of some measures."""
    rows = frames.settings[frames.settings["origin"] != "factor"]
    every = dict(zip(rows["key"], rows["value"], strict=True))
    return {
        key: value
        for key, value in every.items()
        if key != "seeds" and key.partition(".")[0] not in without
    }


def _environment(frames: Frames) -> dict[str, str]:
    return dict(zip(frames.environment["key"], frames.environment["value"], strict=True))


def _components(run: ComparedRun) -> dict[str, str]:
    """By kind, name and options who brings a component, and a digest of its code."""
    found = {}
    for row in records(run.frames.components):
        code = run.code.get((row.kind, row.name, row.options), "")
        options = f"({row.options})" if row.options else ""
        told = [f"{row.plugin} {row.version}".strip(), f"code {code}" if code else ""]
        found[f"{row.kind} {row.name}{options}"] = ", ".join(filter(None, told))
    return found


def _metrics(first: Frames, second: Frames) -> Iterator[Change]:
    """What metrics and profiles are said to be: of measures that both runs have, alike in one."""
    both = set(first.metric_info["measure"]) & set(second.metric_info["measure"])
    one, other = (
        {(row.form, row.metric): row for row in records(f.metric_info) if row.measure in both}
        for f in (first, second)
    )
    for key in dict.fromkeys([*one, *other]):
        if (key in one) != (key in other):
            there = ("there", NOT_THERE) if key in one else (NOT_THERE, "there")
            yield Change(part="metric", what=" ".join(key), first=there[0], second=there[1])
    alike: dict[tuple[str, str, str], list[str]] = {}
    for key in one.keys() & other.keys():
        for name in OF_METRICS:
            texts = [str(getattr(rows[key], name)) for rows in (one, other)]
            if texts[0] != texts[1]:
                alike.setdefault((name, *_parts_apart(*texts)), []).append(key[1])
    for (name, before, after), metrics in sorted(alike.items()):
        what = f"{name} of {listed(sorted(set(metrics)), MAX_NAMED)}"
        yield Change(part="metric", what=what, first=before, second=after)


def _parts_apart(first: str, second: str) -> tuple[str, str]:
    """Of two conventions the parts that only one of them has."""
    one, other = (dict.fromkeys(re.split(r"[;,] ", text)) for text in (first, second))
    told = [
        "; ".join(p for p in parts if p not in rest) for parts, rest in ((one, other), (other, one))
    ]
    return (told[0] or NOT_THERE, told[1] or NOT_THERE) if any(told) else (first, second)


def comparable_metrics(first: Frames, second: Frames) -> tuple[list[str], dict[str, str]]:
    """The metrics of both runs that can be compared, and why others of both cannot.

    They need the same unit and scale. What depends on the machine, a time or a count that is made
    on it, needs the same environment too.
    """
    one, other = (_by_metric(frames) for frames in (first, second))
    alike = same_environment(first, second)
    kept, reasons = [], {}
    for metric in one.index.intersection(other.index, sort=False):
        before, after = one.loc[metric], other.loc[metric]
        if not (before["compared"] and after["compared"]):
            reasons[str(metric)] = "depends on what else the machine did: never compared"
        elif (before["unit"], before["scale"]) != (after["unit"], after["scale"]):
            reasons[str(metric)] = "its unit or scale is another one"
        elif not alike and of_machine(str(before["measure"]), str(before["unit"])):
            reasons[str(metric)] = "a time or cost, and the environments differ"
        else:
            kept.append(str(metric))
    return kept, reasons


def of_machine(measure: str, unit: str) -> bool:
    """Whether a metric is a time or a cost, which another device or version changes by itself."""
    words = unit.replace("/", " ").replace("'s", " ").split()
    return measure in _OF_MACHINE or not _TIMES.isdisjoint(words)


_OF_MACHINE = ("speed", "costs")
_TIMES = frozenset({"s", "ms", "µs", "us", "ns", "second", "seconds", "minutes", "hours", "time"})


def _by_metric(frames: Frames) -> pd.DataFrame:
    info = frames.metric_info[frames.metric_info["form"] == "metric"]
    if "compared" not in info:
        info = info.assign(compared=True)
    return info.set_index("metric")
