"""Memory in a run: what cannot fit is not begun, and what is said never to fit does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ablations
from ablations import engine, execution, parallel, plan_text, planning
from ablations.executors.local import Local
from registry import InvalidOptions
from tests.ablations.test_engine import grid, values

REFUSED = (
    r"^needs at least \S+ KiB of memory, more than the 19\.5 KiB that a trial may use: use fewer "
)


LOGITS = 2 * 2 * 16 * 256
"""Numbers: logits and their softmax, of two sequences of 16 tokens."""


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def test_a_measure_that_cannot_fit_fails_and_runs_on_a_larger_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as small:
        small.setattr(execution, "memory_share", lambda workers: 20_000)
        summary = ablations.run(grid(), tmp_path / "run", executor="inline")
    assert summary.states == {"failed": 8}
    frames = ablations.open_run(tmp_path / "run").frames()
    by_measure = frames.trials.groupby("measure")["state"].unique().map(list).to_dict()
    assert by_measure == {"parameters": ["done"], "gradient_flow": ["failed"]}
    messages = frames.trials.query("measure == 'gradient_flow'")["message"]
    assert messages.str.match(REFUSED).all()
    assert not messages.str.contains("\n").any()
    assert ablations.run(grid(), tmp_path / "run", executor="inline").states == {"done": 8}
    ablations.run(grid(), tmp_path / "other", executor="inline")
    assert values(tmp_path / "run") == values(tmp_path / "other")


def test_a_limit_that_would_not_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Local, "limits_memory", False)
    with pytest.raises(InvalidOptions) as caught:
        ablations.run(grid(memory="4 GiB"), tmp_path / "run", executor="local")
    assert str(caught.value) == (
        "executor 'local' would ignore the grid's memory limit, since it cannot limit memory here; "
        "leave it out"
    )
    assert not (tmp_path / "run").exists()


def test_a_plan_warns_of_what_cannot_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = grid(factors={"d_model": [32, 64]}, memory="300 KiB")
    planned = ablations.plan(asked)
    (one,) = planned.document()["memory"]["too_large"]
    assert (one["cell"], one["measure"]) == ("d_model=64", "gradient_flow")
    logits = 2 * 4 * 2 * 16 * 64
    assert one["bytes"] == 4 * planned.running[1].parameters + logits  # type: ignore[operator]
    lines = planned.text().splitlines()
    assert "memory limit: 300 KiB a trial, as the grid says" in lines
    count, line = [line for line in lines if line.startswith("too large: ")]
    assert count == "too large: 2 of 4 trials cannot be measured whole"
    assert line.startswith("too large: d_model=64: gradient_flow needs at least ")
    for module in (planning, parallel):
        monkeypatch.setattr(module, "memory_share", lambda workers: 2**34)
    monkeypatch.setattr(parallel, "usable_cores", lambda: 4)
    free = ablations.plan(grid()).text()
    assert "memory limit: 16 GiB a trial, this machine's for each of 4 workers" in free
    assert "too large" not in free
    monkeypatch.setattr(plan_text, "SEEN", False)
    assert "a trial, not enforced here: only Linux shows what" in ablations.plan(grid()).text()


@pytest.mark.parametrize(
    ("measure", "dtype", "bytes_each", "logits"),
    [
        ({"gradient_flow": {}}, "float32", 4, 4 * LOGITS),  # keeps no gradients
        ({"gradient_flow": {}}, "float64", 8, 8 * LOGITS),
        ({"gradient_flow": {}}, "bfloat16", 4, 0),  # drawn in float32
        ({"speed": {}}, "float32", 8, 0),
        ({"one_step": {}}, "float32", 20, 0),
        ({"training": {"optimizer": "sgd"}}, "float32", 16, 0),
        ({"training": {"optimizer": "sgd", "momentum": 0.0}}, "bfloat16", 12, 0),
        ({"training": {}}, "float64", 40, 0),
        ({"costs": {}}, "float32", 0, 0),
    ],
)
def test_an_estimate_counts_what_every_decoder_costs(
    measure: dict[str, Any], dtype: str, bytes_each: int, logits: int
) -> None:
    model = {"depth": 2, "d_model": 64, "n_heads": 4, "context": 16, "vocab_size": 256}
    planned = ablations.plan(grid(model=model, measures=[measure], dtype=dtype))
    (name,) = measure
    for cell in planned.running:
        assert cell.parameters is not None
        assert cell.least_bytes == {name: bytes_each * cell.parameters + logits}


def test_logits_count_where_they_are_many() -> None:
    measure = {"gradient_flow": {"batch": 64}}
    (cell, *_) = ablations.plan(grid(measures=[measure])).running
    assert cell.parameters is not None
    assert cell.least_bytes["gradient_flow"] == 4 * cell.parameters + 2 * 4 * 64 * 16 * 64


PEAK = """
import sys
from pathlib import Path

import ablations
from ablations.resuming import missing_trials
from ablations.record import run_plan
from ablations.trial import measure_trial
from registry import Execution

model = dict(depth=4, d_model=512, n_heads=4, context=16, vocab_size=256)
grid = ablations.load_grid(dict(
    name="x", model=model, factors={"norm": ["layernorm"]}, seeds=1, measures=[eval(sys.argv[1])]
))
def peak():  # not getrusage's, which a large parent hands on to its children
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

planned = ablations.plan(grid)
recorded = run_plan(planned, executor="local", execution=Execution())
(trial,) = missing_trials(planned, recorded, {})
before = peak()
(measured,) = measure_trial(trial).measures
after = peak()
(least,) = planned.running[0].least_bytes.values()
print(measured.state, least, (after - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure",
    [
        {"gradient_flow": {}},
        {"speed": {"repeats": 5}},
        {"one_step": {}},
        {"training": {"steps": 2, "held_out_batches": 1}},
        {"training": {"steps": 2, "held_out_batches": 1, "optimizer": "sgd"}},
    ],
    ids=str,
)
def test_an_estimate_is_never_more_than_what_is_used(measure: dict[str, Any]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, repr(measure)], capture_output=True, text=True, check=True
    )
    state, least, used = ended.stdout.split()
    assert state == "done"
    kept = 4 if "gradient_flow" in measure else 8  # bytes a weight: its gradient, or not
    assert kept * 12_000_000 < int(least) < int(used)
