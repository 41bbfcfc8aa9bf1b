"""Plugins that are not installed, in runs: workers, edits, and the grid that is kept."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import ablations
from ablations import engine
from ablations.cli import run_command_line
from ablations.sources import StaleSource
from ablations.trial import PlannedMeasure, Trial

NORM = """
import torch
from registry import ComponentSpec, hookimpl
{imports}

class Norm(torch.nn.Module):
    def __init__(self, dims, *, gain: float = {gain}) -> None:
        super().__init__()
        self.gain = gain

    def forward(self, x):
        return self.gain * x / (1 + x.abs())


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="{name}", target=Norm)]
"""
GRID = """\
name: local
model: {depth: 2, d_model: 16, n_heads: 2, context: 8, vocab_size: 32}
plugins: [parts/warm.py, parts/cold.py]
factors: {norm: [layernorm, warm, cold]}
seeds: 2
measures: [parameters, gradient_flow]
"""


def write(path: Path, name: str, gain: str = "1.5", imports: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NORM.format(name=name, gain=gain, imports=imports), encoding="utf-8")


@pytest.fixture
def project(folder: Path) -> Path:
    """A folder with two plugins and a grid, that is not the current one."""
    project = folder.parent / "project"
    write(project / "parts" / "warm.py", "warm")
    write(project / "parts" / "cold.py", "cold", "SCALE", "from helper import SCALE")
    (project / "parts" / "helper.py").write_text("SCALE = 0.5\n")
    (project / "grid.yaml").write_text(GRID)
    return project


UNREPORTED = """
import sys
from ablations import cli, engine

engine.write_report = lambda out: out / "report.html"
raise SystemExit(cli.run_command_line(sys.argv[1:]))
"""
"""The command line, without the seconds that a report takes."""


def ablate(*arguments: object, cwd: Path) -> str:
    """Run a command in a process of its own; returns the last line of what it told."""
    ended = subprocess.run(
        [sys.executable, "-c", UNREPORTED, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr.splitlines()[-1]


def done(out: Path) -> dict[str, int]:
    """Trials that are done, by the level of the norm."""
    frames = ablations.open_run(out).frames()
    trials = frames.trials[frames.trials["measure"] == "gradient_flow"]
    assert set(trials["state"]) == {"done"}, trials["message"].tolist()
    cells = frames.cells.set_index("cell")["norm"]
    return dict(trials["cell"].map(cells).value_counts())


@pytest.mark.slow
def test_workers_import_what_lies_elsewhere_and_the_kept_grid_resumes(
    project: Path, folder: Path
) -> None:
    told = ablate("run", project / "grid.yaml", "--workers", 2, cwd=folder)
    assert told.startswith("6 trials: 6 done, ")
    out = folder / "runs" / "local"
    assert done(out) == {"layernorm": 2, "warm": 2, "cold": 2}
    environment = ablations.open_run(out).frames().environment.set_index("key")["value"]
    assert environment["plugin warm"].startswith("no version, not packaged, source ")
    assert environment["plugin warm"] != environment["plugin cold"]
    others = environment.drop("command")
    assert not others.str.contains(str(project), regex=False).any()
    # An edit costs its own trials alone, be it in what the plugin imports.
    elsewhere = folder.parent / "empty"
    elsewhere.mkdir()
    (project / "parts" / "helper.py").write_text("SCALE = 0.25\n")
    told = ablate("run", out / "grid.yaml", "--out", out, "--workers", 2, cwd=elsewhere)
    assert told.startswith("6 trials: 2 done, 4 reused, ")
    assert done(out) == {"layernorm": 2, "warm": 2, "cold": 2}
    again = ablations.open_run(out).frames().environment.set_index("key")["value"]
    changed = {key for key in again.index if again[key] != environment[key]}
    assert changed - {"command"} == {"plugin cold"}


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def trial_of(project: Path) -> Trial:
    """A trial of a cell with a norm of the project's."""
    grid = ablations.load_grid(project / "grid.yaml")
    cells = (planned.cell for planned in ablations.plan(grid).cells)
    cell = next(cell for cell in cells if cell.levels["norm"] == "cold")
    assert cell.architecture is not None
    measures = tuple(
        PlannedMeasure(choice=asked.choice, identity="", declared=asked.spec.declared)
        for asked in grid.measures
    )
    return Trial(cell=cell.cell, seed=0, architecture=cell.architecture, measures=measures)


@pytest.mark.slow
def test_a_trial_carries_what_a_process_anywhere_needs(project: Path, tmp_path: Path) -> None:
    (tmp_path / "trial").write_bytes(pickle.dumps(trial_of(project)))
    code = (
        "import pickle, sys\n"
        f"trial = pickle.load(open({str(tmp_path / 'trial')!r}, 'rb'))\n"
        "assert not any('project' in path for path in sys.path)\n"
        "from ablations.trial import measure_trial\n"
        "print([(m.state, m.message) for m in measure_trial(trial).measures])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=False
    )
    assert ended.stdout == "[('done', ''), ('done', '')]\n", ended.stderr


def test_a_plugin_of_the_command_line_is_in_the_kept_grid(
    project: Path, no_report: None, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("grid.yaml").write_text(
        GRID.replace("plugins: [parts/warm.py, parts/cold.py]\n", "").replace(", cold", "")
    )
    plugin = ["--plugin", "../project/parts/warm.py"]
    assert run_command_line(["run", "grid.yaml", "--executor", "inline", *plugin]) == 0
    kept = Path("runs/local/grid.yaml")
    assert kept.read_text().endswith("plugins:\n- ../../../project/parts/warm.py\n")
    assert run_command_line(["run", str(kept), "--executor", "inline"]) == 0
    assert "4 trials: nothing to do, 4 reused, " in capsys.readouterr().err


def test_code_edited_under_a_process_is_not_run(project: Path, no_report: None) -> None:
    grid = ablations.load_grid(project / "grid.yaml")
    (project / "parts" / "helper.py").write_text("SCALE = 0.25\n")
    with pytest.raises(StaleSource, match=r"^the files of 'cold' were edited after this process"):
        ablations.run(grid, "run", executor="inline")
    assert not os.path.exists("run")


def test_what_a_grid_was_loaded_with_is_run(project: Path, no_report: None) -> None:
    own = {
        "name": "local",
        "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
        "factors": {"norm": ["layernorm", "warm"]},
        "seeds": 1,
        "measures": ["parameters"],
    }
    plugins = [str(project / "parts" / "warm.py")]
    grid = ablations.load_grid(own, plugins=plugins)
    assert ablations.plan(grid).trials == 2
    summary = ablations.run(grid, "run", executor="inline")
    assert summary.states == {"done": 2}
    frames = ablations.open_run("run").frames()
    row = frames.components.set_index("name").loc["warm"]
    assert (row["plugin"], row["version"]) == ("warm", "")
    with sqlite3.connect("run/results.sqlite") as connection:
        (text,) = connection.execute("SELECT value FROM meta WHERE key = 'grid'").fetchone()
    assert text == Path("run/grid.yaml").read_text()
    kept = ablations.load_grid("run/grid.yaml")
    assert ablations.run(kept, "run", executor="inline").reused == 2
