"""Runs and plans as a user asks for them: statuses, streams, what is kept."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from ablations.conformity import Conformity
from tests.ablations.command_line import SMALL, ablate


def test_a_stopped_run_is_resumed_where_it_ran(inline, tmp_path, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ablations.run", stopped)
    (tmp_path / "grid.yaml").write_text(SMALL)
    where = ["--executor", "ray", "--address", "ray://head:10001"]
    assert inline("run", "grid.yaml", *where) == (
        130,
        "",
        "stopped; what ended is kept. To resume: ablations run grid.yaml --out runs/small "
        "--executor ray --address ray://head:10001\n",
    )


@pytest.mark.slow
def test_run_with_workers_writes_the_report_and_resumes(tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    first = ablate("run", "grid.yaml", "--workers", 2, cwd=tmp_path, check=0)
    assert first.stdout == "runs/small/report.html\n"
    assert "12 trials: 12 done, " in first.stderr
    page = (tmp_path / "runs/small/report.html").read_text(encoding="utf-8")
    assert "placement" in page
    again = ablate("run", "grid.yaml", cwd=tmp_path, check=0)
    assert "12 reused\n" in again.stderr
    assert "12 trials: nothing to do, 12 reused, " in again.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_end_can_be_resumed(tmp_path, sent, status):
    text = SMALL.replace("seeds: 3", "seeds: 400")
    (tmp_path / "grid.yaml").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "ablations", "run", "grid.yaml", "--workers", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What is started in the background inherits that it ignores Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    store = tmp_path / "runs/small/results.sqlite"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and done(store) < 3:
        time.sleep(0.2)
    assert done(store) >= 3
    if sent == signal.SIGINT:  # a terminal tells the whole group, a batch system the driver
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    assert process.returncode == status
    assert told.splitlines()[-1] == (
        "stopped; what ended is kept. To resume: ablations run grid.yaml --out runs/small"
    )
    assert "Traceback" not in told
    kept = done(store)
    (tmp_path / "grid.yaml").write_text(SMALL)
    ended = ablate("run", "grid.yaml", "--out", "runs/small", cwd=tmp_path, check=0)
    assert " reused" in ended.stderr
    assert done(store) >= kept


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "name: a\nmodel: {depht: 3}\nfactors: {norm: [layernorm, rmsnorm]}\n"
            "measures: [parameters]\n",
            "2:9: model.depht: ",
        ),
        (
            "name: a\nfactors: {norm: [layernorm, rmsnrom]}\nmeasures: [parameters]\n",
            "2:29: factors.norm[1]: ",
        ),
        ("- a\n- b\n", "1:1: "),
        ("name: [\n", "2:1: "),
    ],
)
def test_a_wrong_grid_is_one_line_a_finding_and_leaves_nothing(inline, tmp_path, text, finding):
    (tmp_path / "grid.yaml").write_text(text)
    status, out, err = inline("run", "grid.yaml")
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(f"grid.yaml:{finding}")
    assert {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}


def test_a_grid_that_is_not_there_is_named(inline):
    status, out, err = inline("run", "gird.yaml")
    assert (status, out) == (2, "")
    assert err.startswith("gird.yaml: ")
    assert len(err.splitlines()) == 1


def test_plan_tells_what_would_run_and_writes_nothing(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    status, out, err = inline("plan", "grid.yaml")
    assert (status, err) == (0, "")
    assert out.startswith("small: 4 cells × 3 seeds, 12 trials\n")
    assert "norm: layernorm (baseline), rmsnorm" in out
    assert "initializer" in out
    assert {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}


def test_plan_as_json_is_one_document_and_nothing_else(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(
        SMALL.replace("seeds:", "exclude: [{norm: rmsnorm, placement: post, because: why}]\nseeds:")
    )
    status, out, _ = inline("plan", "grid.yaml", "--json")
    document = json.loads(out)
    assert status == 0
    keys = {"cells", "trials", "skipped", "parameters", "flops", "seconds", "memory"}
    assert set(document) == keys
    assert document["memory"]["limit"] > 0
    assert document["memory"]["too_large"] == []
    assert (document["cells"], document["trials"]) == (4, 9)
    (skipped,) = document["skipped"]
    assert skipped["reason"].endswith("why")
    assert "norm=rmsnorm" in skipped["cell"]
    assert "placement=post" in skipped["cell"]
    low, high = document["parameters"]["min"], document["parameters"]["max"]
    assert 0 < low < high
    assert document["flops"] > 0
    assert document["seconds"] > 0


def test_the_command_line_overrides_the_environment_and_says_so(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)
    monkeypatch.setenv("ABLATIONS_EXECUTOR", "local")
    monkeypatch.setenv("ABLATIONS_OUT", "elsewhere")
    status, out, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 0
    assert out == "elsewhere/report.html\n"
    assert "--executor inline overrides ABLATIONS_EXECUTOR=local" in err


def test_the_command_line_overrides_the_grids_executor_and_says_so(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(f"{SMALL}executor: {{ray: {{gpus: 0.5}}}}\n")
    status, _, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 0
    assert "--executor inline overrides executor ray(gpus=0.5) of the grid" in err.splitlines()


def test_a_failed_trial_is_status_1(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)

    def fail(self, context):
        raise RuntimeError("not today")

    monkeypatch.setattr("ablations.measures.gradient_flow.GradientFlow.measure", fail)
    status, out, err = inline("run", "grid.yaml", "--executor", "inline")
    assert status == 1
    assert out == "runs/small/report.html\n"
    assert "12 trials: 12 failed" in err


def test_a_component_that_breaks_its_contract_is_told_whole(inline, tmp_path, monkeypatch):
    """Also where its trials were lost, which have no marks."""
    (tmp_path / "grid.yaml").write_text(SMALL)

    def examine(examination):
        passed = examination.choice.name != "rmsnorm"
        return Conformity(passed=passed, leaks=False, n_run=9, faults=("shape: " + "a" * 400,))

    monkeypatch.setenv("ABLATIONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("ablations.engine.examine", examine)
    _, _, err = inline("run", "grid.yaml", "--executor", "inline")
    (told,) = (line for line in err.splitlines() if line.startswith("norm rmsnorm: "))
    assert re.fullmatch(
        r"norm rmsnorm: failed: shape: a+ … a+ \(415 characters\); "
        "its results, if any, are marked in the report",
        told,
    )


@pytest.mark.slow
def test_fresh_says_where_the_old_run_went(inline, tmp_path):
    (tmp_path / "grid.yaml").write_text(SMALL)
    inline("run", "grid.yaml", "--executor", "inline")
    status, _, err = inline("run", "grid.yaml", "--executor", "inline", "--fresh")
    assert status == 0
    assert "the old run is now runs/small." in err


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    script = tmp_path / "sweep.py"
    (tmp_path / "grid.yaml").write_text(SMALL)
    script.write_text("import ablations\nablations.run(ablations.load_grid('grid.yaml'), 'run')\n")
    ended = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    assert 'put the call under `if __name__ == "__main__":`' in ended.stderr.splitlines()[-1]


def done(store):
    import sqlite3

    if not store.exists():
        return 0
    try:
        with sqlite3.connect(store) as connection:
            (count,) = connection.execute(
                "SELECT COUNT(*) FROM trials WHERE state = 'done'"
            ).fetchone()
    except sqlite3.Error:
        return 0
    return count
