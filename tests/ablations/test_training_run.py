"""Training in a run: killed and taken up, bad input, and what the tables hold."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import ablations
from ablations import cli, engine

MODEL = {"depth": 2, "d_model": 32, "n_heads": 4, "context": 16, "vocab_size": 256}
UNTIMED = "training.tokens_per_second"

UNREPORTED = """
import sys
from ablations import cli, engine

engine.write_report = lambda out: out / "report.html"
raise SystemExit(cli.run_command_line(sys.argv[1:]))
"""
"""The command line, without the seconds that a report takes."""


def write(folder: Path, factors, **training):
    """A grid file that trains; returns its path."""
    training = {"steps": 20, "held_out_batches": 1, **training}
    document = {
        "name": "trained",
        "model": MODEL,
        "factors": factors,
        "seeds": 2,
        "measures": [{"training": training}],
    }
    path = folder / "grid.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(document, file)
    return path


def values(out):
    """Every figure of a run but the clock's, by its keys."""
    frames = ablations.open_run(out).frames()
    metrics = frames.metrics[frames.metrics["metric"] != UNTIMED]
    rows = [("metric", *row) for row in metrics.astype(str).itertuples(index=False)]
    rows += [("profile", *row) for row in frames.profiles.astype(str).itertuples(index=False)]
    return sorted(rows)


def start(grid, out, workers):
    return subprocess.Popen(
        [
            *(sys.executable, "-c", UNREPORTED, "run", str(grid)),
            *("--out", str(out), "--workers", str(workers)),
        ],
        env={**os.environ, "ABLATIONS_CHECKPOINT_SECONDS": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_a_training_gives_the_same_curves(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    grid = write(tmp_path, {"placement": ["pre", "post"]}, steps=800, probes=[0, 320])
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = start(grid, killed, workers=1)
    deadline = time.monotonic() + 200
    while not list(killed.glob("checkpoints/*.json")):
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = list(killed.glob("checkpoints/*.json"))
    assert len(left) == 1
    assert start(grid, killed, workers=2).wait(timeout=250) == 0
    assert not (killed / "checkpoints").exists()
    ablations.run(ablations.load_grid(grid), whole, executor="inline")
    trials = ablations.open_run(whole).frames().trials
    assert list(trials["state"]) == ["done"] * 4, list(trials["message"])
    assert values(killed) == values(whole)
    assert len(values(whole)) > 4 * 200


def told(capsys, grid):
    """The exit status of a plan, and what it wrote to standard error."""
    status = cli.run_command_line(["plan", str(grid)])
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"learning_rate": 0.0}, "option 'learning_rate' of measure 'training' must be number > 0"),
        ({"learning_rate": -1.0}, "must be number > 0, not -1.0"),
        ({"warmup_steps": 21}, "warmup_steps 21 is longer than the training, 20 steps"),
        ({"data": "recal"}, "data 'recal' cannot be read: No such file or directory; did you mean"),
        ({"data": "recall", "task": {"pears": 4}}, "did you mean 'pairs'?"),
        ({"schedule": "cosin"}, "option 'schedule' of measure 'training' must be"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_nothing_runs(tmp_path, capsys, training, said):
    status, err = told(capsys, write(tmp_path, {"placement": ["pre", "post"]}, **training))
    assert status == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_level_that_cannot_be_trained_is_skipped_alone(tmp_path):
    grid = ablations.load_grid(write(tmp_path, {"training.warmup_steps": [0, 40], "depth": [1, 2]}))
    with pytest.raises(ablations.GridError) as raised:
        ablations.plan(grid)
    assert "warmup_steps 40 is longer than the training, 20 steps" in str(raised.value)
    factors = {"training.warmup_steps": [0, 40], "training.steps": [20, 60]}
    planned = ablations.plan(ablations.load_grid(write(tmp_path, factors)))
    skipped = [entry.cell for entry in planned.cells if entry.cell.skipped]
    assert [cell.levels for cell in skipped] == [
        {"training.warmup_steps": "40", "training.steps": "20"}
    ]


def test_an_edited_text_is_trained_on_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    text = tmp_path / "a.txt"
    text.write_bytes(b"one two three " * 100)
    path = write(tmp_path, {"placement": ["pre", "post"]}, data=str(text), steps=2)

    def reused():
        return ablations.run(ablations.load_grid(path), tmp_path / "out", executor="inline").reused

    assert reused() == 0
    assert reused() == 4
    text.write_bytes(b"one two four " * 100)
    assert reused() == 0


def test_cells_that_differ_in_training_alone_start_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    path = write(tmp_path, {"training.learning_rate": [0.001, 0.01], "placement": ["pre", "post"]})
    ablations.run(ablations.load_grid(path), tmp_path / "out", executor="inline")
    frames = ablations.open_run(tmp_path / "out").frames()
    first = frames.metrics[frames.metrics["metric"] == "training.initial_loss"]
    first = first.merge(frames.cells, on="cell")
    assert (first.groupby(["placement", "seed"])["value"].nunique() == 1).all()
    assert first["value"].nunique() == 4
    info = frames.metric_info.set_index("metric")
    assert not info.loc[UNTIMED, "compared"]
    assert info.loc["training.learnt", "defined_when_diverged"]
    assert info.loc["training.steps_to_loss", "may_be_infinite"]
