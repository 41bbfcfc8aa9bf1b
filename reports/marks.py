"""Marks on trials: what each says, how many trials carry it, and under which levels they fall."""

from collections.abc import Iterator

import pandas as pd

from reports.frames import Frames
from reports.listing import Table, make_table
from reports.pairs import ordered_levels, told_levels
from reports.wording import counted, number, short

CANCELLED, LEAKS = "cancelled_probe", "leaks"
NONCONFORMING, UNCHECKED = "nonconforming", "unchecked"
OF_COMPONENTS = (LEAKS, NONCONFORMING, UNCHECKED)
"""Marks that every measure of a trial carries alike."""

EXPLAINED = {
    CANCELLED: (
        "The last norm removes nearly all of this loss's gradient: what is left is rounding or the "
        "norm's eps, so nothing behind it says anything about the model; such trials are left out "
        "of every comparison."
    ),
    "vanishing": (
        "The sensitivity of some block is below 1e-2 times the last block's: next to nothing of "
        "the gradient reaches it."
    ),
    "exploding": (
        "The sensitivity of some block is above 1e2 times the last block's: the gradient grows on "
        "its way back."
    ),
    "stalled": (
        "Training ran to its end and learnt no more than letter frequencies (of a task: than "
        "chance)."
    ),
    LEAKS: (
        "A component reads the future: what the model predicts it has seen, so its figures are no "
        "evidence."
    ),
    NONCONFORMING: (
        "A component breaks a contract of its kind (the table of components says which): the "
        "figures may be of something else than its name."
    ),
    UNCHECKED: "A component has not been held to the contracts of its kind yet.",
}
"""What the marks of the built-in measures say; another mark is shown without a word."""

_MOST = 0.8  # of the marked trials, for a level to be named
_MORE_OFTEN = 1.25  # than in trials as a whole, for it to say anything
_MAX_LEVELS = 4
_LABEL = 120  # characters of a cell's label


def marked_trials(frames: Frames) -> pd.DataFrame:
    """A row for each mark of each trial: ``mark``, ``measure``, ``cell``, ``seed``."""
    marked = frames.trials.loc[frames.trials["marks"] != "", ["measure", "cell", "seed", "marks"]]
    split = marked.assign(mark=marked["marks"].astype(object).str.split(",")).explode("mark")
    return split[["mark", "measure", "cell", "seed"]].reset_index(drop=True)


def marks_section(frames: Frames) -> Table | None:
    """A row for each mark and measure."""
    marked = marked_trials(frames)
    if marked.empty:
        return None
    rows = [
        [
            mark,
            "all" if mark in OF_COMPONENTS else measure,
            number(len(trials)),
            where(frames, measure, trials),
            EXPLAINED.get(mark, "—"),
        ]
        for (mark, measure), trials in _by_mark(marked)
    ]
    columns = {"Mark": False, "Measure": False, "Trials": True, "Where": False, "Meaning": False}
    caption = "Marks on trials: how many of a measure's carry one, and under which levels they are."
    return make_table(caption, columns, rows)


def _by_mark(marked: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Each mark with its measure, or once for all measures where a component gives it."""
    told = set()
    for (mark, measure), trials in marked.groupby(["mark", "measure"], sort=True):
        if mark not in told:
            yield (str(mark), str(measure)), trials
        if mark in OF_COMPONENTS:
            told.add(mark)


def mark_alerts(frames: Frames) -> list[str]:
    """What the findings must be read with: trials that are left out, or that are no evidence."""
    marked = marked_trials(frames)
    told: list[str] = []
    for measure, trials in marked[marked["mark"] == CANCELLED].groupby("measure", sort=True):
        of_all = int((frames.trials["measure"] == measure).sum())
        is_are = "is" if len(trials) == 1 else "are"
        told.append(
            f"{len(trials):,} of {counted(of_all, 'trial')} of {measure} {is_are} left out of "
            "every comparison: the last norm removes nearly all of the gradient of their loss, "
            "and what is left says nothing about the model. "
            f"Which: {where(frames, str(measure), trials)}."
        )
    for mark, said in (
        (LEAKS, "no evidence: a component reads the future there"),
        (NONCONFORMING, "to be doubted: a component breaks a contract of its kind there"),
    ):
        trials = marked[marked["mark"] == mark]
        if len(trials):
            n = len(trials[["cell", "seed"]].drop_duplicates())
            of_all = len(frames.trials[["cell", "seed"]].drop_duplicates())
            told.append(
                f"{n:,} of {counted(of_all, 'trial')} {'is' if n == 1 else 'are'} {said}"
                f"{_components_at_fault(frames, mark)}."
            )
    return told


def drawn_warning(frames: Frames) -> str:
    """What must be known before looking at a figure of a run with faulty components."""
    marks = set(marked_trials(frames)["mark"])
    told = [
        *(["models that read the future are among these"] if LEAKS in marks else []),
        *(["some components break a contract"] if NONCONFORMING in marks else []),
    ]
    said = "; ".join(told)
    return f"{said[:1].upper()}{said[1:]}: see the top of this page." if told else ""


def _components_at_fault(frames: Frames, mark: str) -> str:
    """The components that give a mark, with the first fault of each; none if not known."""
    if "conformance" not in frames.components:
        return ""
    told = []
    for row in frames.components.to_dict("records"):
        said = str(row["conformance"])
        leaks = "causality: " in said or "reads the future" in said
        failed = said.startswith("failed")
        if leaks if mark == LEAKS else failed and not leaks:
            name = f"{row['kind']} {short(str(row['name']))}"
            told.append(f"{name} ({short(said.removeprefix('failed: '), _LABEL)})")
    more = f" and {len(told) - _MAX_LEVELS} more" if len(told) > _MAX_LEVELS else ""
    return f": {'; '.join(told[:_MAX_LEVELS])}{more}" if told else ""


def where(frames: Frames, measure: str, marked: pd.DataFrame) -> str:
    """The levels under which all or most marked trials of a measure fall, in words.

    Of a single cell its label is told. Else named are levels with at least four fifths of the
    marked trials, if marks are more frequent under them than elsewhere; of a factor without such a
    level those that no marked trial has.
    """
    ended = frames.trials["state"].isin(["done", "diverged"])
    asked = frames.trials[(frames.trials["measure"] == measure) & ended]
    n_all, n = len(asked), len(marked)
    if n >= n_all:
        return "every trial"
    if marked["cell"].nunique() == 1:
        label = frames.cells.set_index("cell").loc[marked["cell"].iloc[0], "label"]
        return f"{'all' if n > 1 else 'the one'} in the cell {short(str(label), _LABEL)}"
    found: list[tuple[float, float, str]] = []
    free: list[str] = []
    whole: list[
        str
    ] = []  # levels of which every trial is marked, though few of all marks are theirs
    level = frames.cells.set_index("cell")
    for factor, names in told_levels(frames).items():
        here = level.loc[marked["cell"], factor].value_counts()
        there = level.loc[asked["cell"], factor].value_counts()
        named = False
        for name in ordered_levels(frames, factor):
            inside, total = int(here.get(name, 0)), int(there.get(name, 0))
            if total and inside == total:
                whole.append(_share(inside, n, total, factor, names[name]))
            if total and inside >= _MOST * n and inside * n_all > _MORE_OFTEN * n * total:
                named = True
                found.append(
                    (inside / n, inside / total, _share(inside, n, total, factor, names[name]))
                )
        if not named:
            free += [
                f"none with {short(factor)} = {names[name]}"
                for name in ordered_levels(frames, factor)
                if there.get(name, 0) and not here.get(name, 0)
            ]
    found.sort(key=lambda entry: (-entry[0], -entry[1]))
    told = [text for _, _, text in found[:_MAX_LEVELS]]
    told += free[: _MAX_LEVELS - len(told)]
    return "; ".join(told or whole[:_MAX_LEVELS]) or "spread over the levels of every factor"


def _share(inside: int, n: int, total: int, factor: str, level: str) -> str:
    counted_ = f"all {n:,}" if inside == n else f"{inside:,} of {n:,}"
    of_level = "each of its trials" if inside == total else f"of its {total:,} trials"
    return f"{counted_} with {short(factor)} = {level} ({of_level})"
