"""Whose code a trial runs, and that no process runs another stranger's beside it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import ablations
from ablations import engine
from ablations.record import run_plan
from ablations.resuming import missing_trials
from ablations.strangers import by_strangers, strangers_of
from registry import Execution

NORM = """
import os
import sys
from pathlib import Path

import torch
from registry import ComponentSpec, hookimpl

here = Path(__file__).parent


class Norm(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()

    def forward(self, x):
        loaded = sorted({"warm", "cold", "idle"} & sys.modules.keys())
        (here / f"{os.getpid()}.%s").write_text(" ".join(loaded))
        return x


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="%s", target=Norm)]
"""
NAMES = ("warm", "cold", "idle")


def test_strangers_are_the_packages_that_are_not_this_projects() -> None:
    targets = ["components.norms:LayerNorm", "ablations.measures.costs:Costs"]
    assert strangers_of(targets) == frozenset()
    assert strangers_of([*targets, "dyt.norms:A", "dyt.others:B", "mup:C"]) == {"dyt", "mup"}
    assert strangers_of(["componentsextra:Norm"]) == {"componentsextra"}


def test_tasks_with_the_same_strangers_come_together_those_without_first() -> None:
    sets = [{"b"}, set(), {"a", "b"}, {"a"}, set(), {"b"}]
    tasks = [SimpleNamespace(strangers=frozenset(names)) for names in sets]
    order = [sorted(task.strangers) for task in sorted(tasks, key=by_strangers)]
    assert order == [[], [], ["a"], ["b"], ["b"], ["a", "b"]]


@pytest.fixture
def grid(tmp_path: Path) -> ablations.Grid:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(NORM % (name, name), encoding="utf-8")
    document = {
        "name": "strangers",
        "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
        "factors": {"norm": ["warm", "layernorm", "cold"], "placement": ["pre", "post"]},
        "baseline": {"norm": "layernorm"},
        "seeds": 2,
        "measures": ["gradient_flow"],
    }
    return ablations.load_grid(document, plugins=[str(tmp_path / f"{n}.py") for n in NAMES])


def test_trials_tell_whose_code_they_run(folder: Path, grid: ablations.Grid) -> None:
    planned = ablations.plan(grid)
    recorded = run_plan(planned, executor="local", execution=Execution())
    trials = list(missing_trials(planned, recorded, {}))
    one_seed = [[], [], ["cold"], ["cold"], ["warm"], ["warm"]]
    assert [sorted(trial.strangers) for trial in trials] == one_seed * 2
    assert [trial.seed for trial in trials] == [0] * 6 + [1] * 6
    examined = recorded.examinations.values()
    of = {examination.choice.name: examination.strangers for examination in examined}
    assert (of["warm"], of["layernorm"]) == ({"warm"}, frozenset())


def test_the_baseline_is_strangers_code_where_it_is_built(
    folder: Path, grid: ablations.Grid
) -> None:
    document = dict(grid.document.data)
    document |= {"baseline": {"norm": "warm"}, "measures": ["gradient_flow", "speed"], "seeds": 1}
    planned = ablations.plan(ablations.load_grid(document, grid.catalog))
    recorded = run_plan(planned, executor="local", execution=Execution())
    found = [sorted(trial.strangers) for trial in missing_trials(planned, recorded, {})]
    assert found == [["warm"]] * 4 + [["cold", "warm"]] * 2


@pytest.mark.slow
def test_a_worker_loads_the_plugins_of_its_own_trials_alone(
    folder: Path, tmp_path: Path, grid: ablations.Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    assert ablations.run(grid, tmp_path / "run", workers=2).states == {"done": 12}
    seen = {
        (path.stem, path.suffix[1:]): path.read_text()
        for path in (*tmp_path.glob("*.warm"), *tmp_path.glob("*.cold"))
    }
    assert {name for _, name in seen} == {"warm", "cold"}
    assert all(loaded == name for (_, name), loaded in seen.items())
