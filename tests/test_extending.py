"""The plugins of docs/extend.md, as a reader would copy them, each in a small run."""

import csv
import math
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import ablations
from ablations import engine
from ablations.cli import run_command_line
from registry import discover

PAGE = (Path(__file__).parents[1] / "docs" / "extend.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(# (\w+\.py).*?)```", PAGE, re.DOTALL)
GRID = """
name: small
model: {depth: 1, d_model: 16, n_heads: 2, context: 8, vocab_size: 32}
factors:
  norm: [layernorm, rmsnorm]
seeds: 1
"""
(ASKED,) = re.findall(r"```yaml\n(measures: .*?)```", PAGE, re.DOTALL)
PLAIN = "measures: [gradient_flow]\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The files of the page; one folder for all tests, since Python imports a module once."""
    home = tmp_path_factory.mktemp("extending")
    for text, name in BLOCKS:
        (home / name).write_text(text, encoding="utf-8")
    path = list(sys.path)
    yield home
    sys.path[:] = path
    for _, name in BLOCKS:
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.fixture(autouse=True)
def beside(home, monkeypatch):
    """Each test starts beside the files, with no run there; a report takes longer than the runs."""
    shutil.rmtree(home / "runs", ignore_errors=True)
    monkeypatch.chdir(home)
    monkeypatch.delenv("ABLATIONS_MLFLOW", raising=False)
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def command(plugin):
    """The one command of the page that names the plugin, less the program's name."""
    (line,) = [
        line
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
        for line in block.splitlines()
        if plugin in line
    ]
    program, *arguments = shlex.split(line)
    assert program == "ablations"
    return arguments


def run(monkeypatch, plugin, measures):
    Path("grid.yaml").write_text(GRID + measures, encoding="utf-8")
    arguments = command(plugin)
    if "--executor" not in arguments:
        monkeypatch.setenv("ABLATIONS_EXECUTOR", "inline")
    assert run_command_line(arguments) == 0
    return ablations.open_run("runs/small").frames()


def values(frames):
    return list(frames.metrics.itertuples(index=False, name=None))


def test_the_page_has_one_of_each():
    assert [name for _, name in BLOCKS] == ["logits.py", "fresh_process.py", "csv_lines.py"]
    catalog = discover(plugins=[name for _, name in BLOCKS])
    by_name = {record.name: record for record in catalog.plugins if record.asked}
    assert {name: (record.state, len(record.specs)) for name, record in by_name.items()} == {
        "logits": ("loaded", 1),
        "fresh_process": ("loaded", 1),
        "csv_lines": ("loaded", 0),
    }
    assert sorted(by_name["csv_lines"].follows) == ["run_finished", "run_started", "trial_finished"]


def test_the_measure(monkeypatch):
    frames = run(monkeypatch, "logits.py", ASKED)
    metrics = frames.metrics.pivot_table(index="cell", columns="metric", values="value")
    assert len(metrics) == 2
    assert metrics["logits.std"].between(0.01, 0.5).all()
    # For small logits of variance s² the entropy of a softmax over V is log V − s²/2.
    wanted = 1 - metrics["logits.std"] ** 2 / 2 / math.log(32)
    assert metrics["logits.entropy"].tolist() == pytest.approx(wanted.tolist(), abs=2e-4)
    info = frames.metric_info.set_index("metric")
    assert "on 4 ×" not in info.loc["logits.std", "convention"]
    assert info.loc["logits.std", "convention"].startswith("4 × context random tokens")


@pytest.mark.slow
def test_the_executor_leaves_every_bit(monkeypatch):
    frames = run(monkeypatch, "fresh_process.py", PLAIN)
    catalog = discover()
    grid = ablations.load_grid("grid.yaml", catalog)
    ablations.run(grid, "runs/inline", executor="inline", catalog=catalog)
    assert values(frames) == values(ablations.open_run("runs/inline").frames())
    environment = frames.environment.set_index("key")["value"]
    assert environment["executor"] == "fresh_process"


@pytest.mark.slow
def test_the_executor_tells_of_crashes_and_time_limits():
    from registry import Execution

    executor = discover(plugins=["fresh_process.py"]).executor("fresh_process")
    outcomes = _executor(executor).execute(
        ["7", "_exit"], _leave, Execution(workers=2, threads=1, timeout=60)
    )
    assert {o.trial: (o.state, o.result, o.message) for o in outcomes} == {
        "7": ("done", "7", ""),
        "_exit": ("crashed", None, "its process ended with status 7"),
    }
    (hung,) = _executor(executor).execute(["sleep"], _leave, Execution(timeout=0.5))
    assert (hung.state, hung.message) == ("timeout", "stopped after its time limit of 0.5 s")


def _executor(spec):
    from registry.spec import load_target

    return load_target(spec.reference)()


def _leave(trial):
    if trial == "_exit":
        os._exit(7)
    if trial == "sleep":
        import time

        time.sleep(60)
    return trial


def test_the_tracker(monkeypatch, capsys):
    run(monkeypatch, "csv_lines.py", PLAIN)
    more = GRID.replace("seeds: 1", "seeds: 2")
    monkeypatch.setattr("tests.test_extending.GRID", more)
    frames = run(monkeypatch, "csv_lines.py", PLAIN)
    with open("runs/small/trials.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["norm", "seed", "state", "loss"]
    assert [row[:3] for row in rows] == [
        [norm, seed, "done"] for seed in "01" for norm in ("layernorm", "rmsnorm")
    ]
    losses = frames.metrics.query("metric == 'gradient_flow.loss'")["value"]
    assert sorted(float(row[3]) for row in rows) == sorted(losses)
    assert "small is done: 4 of 4 trials have results" in capsys.readouterr().err


def test_the_tracker_leaves_other_runs_alone(monkeypatch):
    run(monkeypatch, "csv_lines.py", "measures: [parameters]\n")
    assert not Path("runs/small/trials.csv").exists()
