"""Trials that both runs have and that ended in another state, and whether equal ones agree."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reports.comparison.compared_run import ComparedRun

_KEY = ["cell", "seed", "measure"]


def changed_states(first: ComparedRun, second: ComparedRun) -> pd.DataFrame:
    """Shared trials whose state differs: ``measure``, ``first``, ``second`` (states), ``n``
    (trials), ``n_cells``, ``example`` (the label of a cell), the most frequent first.

    What has not been run in one of them is not counted: that is no change of state.
    """
    both = _shared(first, second)
    moved = both[(both["state"] != both["state_2"]) & ~_missing(both)]
    labels = first.frames.cells.set_index("cell")["label"]
    moved = moved.assign(label=moved["cell"].map(labels))
    grouped = moved.groupby(["measure", "state", "state_2"], observed=True, sort=True)
    table = grouped.agg(
        n=("seed", "size"), n_cells=("cell", "nunique"), example=("label", "first")
    ).reset_index()
    table = table.rename(columns={"state": "first", "state_2": "second"})
    return table.sort_values("n", ascending=False, kind="stable", ignore_index=True)


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What two runs have in common.

    Attributes:
        n_cells: Cells of the same content.
        n_first: Cells of the first run alone.
        n_second: Cells of the second run alone.
        n_seeds: Seeds.
        n_alike: Trials' measures, run in both, whose code, options and environment are the same.
        n_other: Those of which any of that differs.
        n_differing: Values of the first kind that are not the same to the bit, times left out.
        n_values: Values of all of them, times left out.
        n_unequal: Those of them that are not the same to the bit.
    """

    n_cells: int
    n_first: int
    n_second: int
    n_seeds: int
    n_alike: int
    n_other: int
    n_differing: int
    n_values: int
    n_unequal: int


def shared(first: ComparedRun, second: ComparedRun, machine: set[str]) -> Shared:
    """What two runs have in common.

    Args:
        first: A run.
        second: Another run.
        machine: Metrics that depend on the machine, which never agree to the bit.
    """
    cells = [set(run.frames.cells["cell"]) for run in (first, second)]
    seeds = [set(run.frames.trials["seed"]) for run in (first, second)]
    both = _shared(first, second)
    run = both[~_missing(both)]
    alike = np.array(
        [
            first.identities.get(key) is not None
            and first.identities.get(key) == second.identities.get(key)
            for key in zip(run["cell"], run["measure"], strict=True)
        ],
        dtype=bool,
    )
    _, n_differing = _values(first, second, run[alike], machine)
    n_values, n_unequal = _values(first, second, run, machine)
    return Shared(
        n_cells=len(cells[0] & cells[1]),
        n_first=len(cells[0] - cells[1]),
        n_second=len(cells[1] - cells[0]),
        n_seeds=len(seeds[0] & seeds[1]),
        n_alike=int(alike.sum()),
        n_other=int((~alike).sum()),
        n_differing=n_differing,
        n_values=n_values,
        n_unequal=n_unequal,
    )


def _values(
    first: ComparedRun, second: ComparedRun, trials: pd.DataFrame, machine: set[str]
) -> tuple[int, int]:
    """How many values of these trials a run has, and how many of them are not the same to the bit.

    NaN is the same as NaN, and as no value.
    """
    info = first.frames.metric_info
    of_measure = info.loc[info["form"] == "metric", ["metric", "measure"]]
    of_measure = of_measure[~of_measure["metric"].isin(machine)]
    asked = trials[_KEY].merge(of_measure, on="measure")
    key = ["cell", "seed", "metric"]
    one, other = (
        run.frames.metrics.astype({"cell": object, "metric": object}) for run in (first, second)
    )
    values = asked.merge(one, on=key, how="left").merge(
        other, on=key, how="left", suffixes=("", "_2"), indicator=True
    )
    a, b = values["value"].to_numpy(dtype=float), values["value_2"].to_numpy(dtype=float)
    neither = np.isnan(a) & np.isnan(b)
    return int((~neither).sum()), int((~((a == b) | neither)).sum())


def _shared(first: ComparedRun, second: ComparedRun) -> pd.DataFrame:
    columns = [*_KEY, "state"]
    one, other = (
        run.frames.trials[columns].astype({"cell": object, "measure": object, "state": object})
        for run in (first, second)
    )
    return one.merge(other, on=_KEY, suffixes=("", "_2"))


def _missing(both: pd.DataFrame) -> "pd.Series[bool]":
    return (both["state"] == "missing") | (both["state_2"] == "missing")
