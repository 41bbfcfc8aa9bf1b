"""Trials as those hear of them who follow a run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from ablations.results import MeasureResult, TrialResult
from ablations.store import Store
from registry import TrialInfo
from tests.ablations.stores import PLAN, result

TWO = replace(
    PLAN,
    measures=("flow", "size"),
    identities={(cell, m): f"id-{cell}" for cell in "ab" for m in ("flow", "size")},
)


def test_a_trial_is_told_whole_with_the_worst_of_its_states(store: Store) -> None:
    store.begin(TWO)
    size = MeasureResult(
        measure="size",
        identity="id-a",
        state="done",
        marks=("odd", "cancelled_probe"),
        seconds=0.5,
        metrics={"size.total": 3.0},
    )
    flow = MeasureResult(
        measure="flow",
        identity="id-a",
        state="diverged",
        message="not finite: flow.ratio",
        marks=("cancelled_probe", "leaks"),
        seconds=0.25,
        metrics={"flow.ratio": math.nan, "flow.loss": math.inf},
    )
    store.record(TrialResult(cell="a", seed=3, measures=(size, flow)))
    (told,) = store.trials()
    assert math.isnan(told.metrics["flow.ratio"])
    assert replace(told, metrics={**told.metrics, "flow.ratio": 0.0}) == TrialInfo(
        cell="a",
        label="norm=layernorm",
        levels={"norm": "layernorm"},
        seed=3,
        state="diverged",
        states={"flow": "diverged", "size": "done"},
        messages={"flow": "not finite: flow.ratio"},
        metrics={"flow.ratio": 0.0, "flow.loss": math.inf, "size.total": 3.0},
        marks=("cancelled_probe", "leaks", "odd"),
        seconds=0.75,
    )


def test_trials_are_in_the_order_of_the_grid_and_one_can_be_asked_for(store: Store) -> None:
    for seed in (3, 7):
        for name in "ab":
            store.record(result(name, seed, metrics={"flow.ratio": float(seed)}))
    order = [("b", 7), ("b", 3), ("a", 7), ("a", 3)]
    assert [(trial.cell, trial.seed) for trial in store.trials()] == order
    for cell, seed in order:
        (one,) = store.trials((cell, seed))
        assert (one.cell, one.seed, one.metrics) == (cell, seed, {"flow.ratio": float(seed)})
    assert store.trials(("a", 8)) == []


def test_what_is_not_planned_or_not_there_is_not_told(store: Store) -> None:
    assert store.trials() == []
    store.record(result(identity="of an edited plugin", metrics={"flow.ratio": 1.0}))
    store.record(result("c", identity="of a skipped cell"))
    assert store.trials() == []


def test_a_directory_keeps_its_id_and_shares_it_with_no_other(tmp_path: Path) -> None:
    ids = []
    for name in ("one", "one", "two"):
        with Store.create_or_open(tmp_path / name) as store:
            store.begin(PLAN)
            ids.append(store.id)
            store.begin(TWO)
            assert store.id == ids[-1]
    assert ids[0] == ids[1] != ids[2]
    (tmp_path / "one").rename(tmp_path / "moved")
    with Store.open_readonly(tmp_path / "moved") as moved:
        assert moved.id == ids[0]
