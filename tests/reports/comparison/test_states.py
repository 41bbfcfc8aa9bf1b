"""Trials of both runs that ended differently, and equal ones that do not agree."""

from dataclasses import replace

import numpy as np

from reports import Frames
from reports.comparison.compared_run import ComparedRun
from reports.comparison.states import changed_states, shared
from tests.reports.simulated import make_frames, set_state


def small(factor: float = 1.0) -> Frames:
    values = factor * np.random.default_rng(0).normal(5, 1, (4, 3))
    return make_frames({"norm": ["a", "b"], "size": ["1", "2"]}, {"x": values})


def named(frames: Frames, name: str = "1", **given: object) -> ComparedRun:
    return ComparedRun(name=name, frames=frames, **given)  # type: ignore[arg-type]


def test_trials_that_ended_in_another_state_are_counted() -> None:
    first = small()
    cells = first.cells["cell"]
    second = set_state(first, first.trials["cell"] == cells[3], "diverged")
    second = set_state(second, second.trials["cell"].isin(cells[:2]) & (second.trials["seed"] == 0),
                       "failed", message="no")  # fmt: skip
    table = changed_states(named(first), named(second))
    assert table.to_dict("records") == [
        {"measure": "m", "first": "done", "second": "diverged", "n": 3, "n_cells": 1,
         "example": "norm=b size=2"},
        {"measure": "m", "first": "done", "second": "failed", "n": 2, "n_cells": 2,
         "example": "norm=a size=1"},
    ]  # fmt: skip
    back = changed_states(named(second), named(first))
    assert back[["first", "second"]].to_numpy().tolist() == [
        ["diverged", "done"],
        ["failed", "done"],
    ]


def test_what_has_not_run_is_no_change() -> None:
    first = small()
    second = set_state(first, first.trials["seed"] == 1, "missing")
    assert changed_states(named(first), named(second)).empty
    assert changed_states(named(second), named(first)).empty


def identities(frames: Frames, tag: str = "i") -> dict[tuple[str, str], str]:
    return {(cell, "m"): f"{tag}{cell}" for cell in frames.cells["cell"]}


def test_results_of_the_same_code_should_agree_to_the_bit() -> None:
    first, second = small(), small(1 + 1e-15)
    alike = identities(first)
    same = shared(named(first, identities=alike), named(small(), identities=alike), set())
    assert (same.n_cells, same.n_seeds, same.n_alike, same.n_differing) == (4, 3, 12, 0)
    assert (same.n_values, same.n_unequal) == (12, 0)
    found = shared(named(first, identities=alike), named(second, identities=alike), set())
    changed = int((first.metrics["value"] != second.metrics["value"]).sum())
    assert changed > 0
    assert (found.n_alike, found.n_other, found.n_differing) == (12, 0, changed)
    assert (found.n_values, found.n_unequal) == (12, changed)
    times = shared(named(first, identities=alike), named(second, identities=alike), {"x"})
    assert (times.n_differing, times.n_values) == (0, 0)


def test_results_of_other_code_need_not_agree() -> None:
    first, second = small(), small(2.0)
    found = shared(named(first, identities=identities(first)),
                   named(second, identities=identities(second, "j")), set())  # fmt: skip
    assert (found.n_alike, found.n_other, found.n_differing) == (0, 12, 0)
    assert (found.n_values, found.n_unequal) == (12, 12)
    again = shared(named(first), named(first), set())
    assert (again.n_alike, again.n_values, again.n_unequal) == (0, 12, 0)
    unknown = shared(named(first), named(second), set())
    assert (unknown.n_alike, unknown.n_other) == (0, 12)


def test_nan_agrees_with_nan_and_a_value_that_is_gone_does_not() -> None:
    first = small()
    lost = first.metrics.assign(value=first.metrics["value"].where(first.metrics["seed"] > 0))
    nan = replace(first, metrics=lost)
    alike = identities(first)
    assert (
        shared(named(nan, identities=alike), named(nan, identities=alike), set()).n_differing == 0
    )
    gone = replace(first, metrics=first.metrics.iloc[1:].reset_index(drop=True))
    found = shared(named(first, identities=alike), named(gone, identities=alike), set())
    assert found.n_differing == 1


def test_cells_of_one_run_alone_are_counted() -> None:
    first = small()
    cells = first.cells.assign(cell=[*first.cells["cell"][:3], "new"])
    old = first.cells["cell"].iloc[3]
    second = replace(
        first,
        cells=cells,
        trials=first.trials.replace({"cell": {old: "new"}}),
        metrics=first.metrics.replace({"cell": {old: "new"}}),
    )
    found = shared(named(first), named(second), set())
    assert (found.n_cells, found.n_first, found.n_second) == (3, 1, 1)
