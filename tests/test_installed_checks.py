"""Strangers' faulty components, installed by pip: what `check` and a run say of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ablations
from tests.installed import Scratch

FAULTY = {
    "leaking": ("attention", "causality"),
    "batch_norm": ("norm", "batch_independence"),
    "noisy": ("norm", "global_random_state"),
    "detached": ("norm", "derivative"),
    "swallowing": ("norm", "constructor"),
}


@pytest.fixture(scope="module")
def documents(scratch: Scratch, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    cwd = tmp_path_factory.mktemp("checks")
    ended = scratch.ablate("check", *FAULTY, "dynamic_tanh", "--json", cwd=cwd, status=1)
    return {document["name"]: document for document in json.loads(ended.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTY)
def test_each_fault_is_found_by_the_check_it_is_for(documents, name: str) -> None:
    kind, check = FAULTY[name]
    document = documents[name]
    assert document["kind"] == kind
    assert not document["passed"]
    failed = {c["name"]: c["message"] for c in document["checks"] if c["outcome"] == "failed"}
    assert check in failed
    assert "\n" not in failed[check]


@pytest.mark.slow
def test_a_good_one_passes_beside_them(documents) -> None:
    assert documents["dynamic_tanh"]["passed"]


@pytest.mark.slow
def test_a_run_marks_what_leaks_and_what_is_faulty(scratch: Scratch, tmp_path: Path) -> None:
    grid = {
        "name": "faulty",
        "model": {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
        "factors": {"attention": ["mha", "leaking"], "norm": ["layernorm", "detached"]},
        "seeds": 2,
        "measures": ["parameters", "gradient_flow"],
    }
    (tmp_path / "grid.yaml").write_text(json.dumps(grid))
    scratch.ablate("run", "grid.yaml", "--out", "run", cwd=tmp_path)
    frames = ablations.open_run(tmp_path / "run").frames()
    cells = frames.cells.set_index("cell")
    for trial in frames.trials.itertuples():
        marks = set(filter(None, trial.marks.split(",")))
        leaks = cells.loc[trial.cell, "attention"] == "leaking"
        faulty = cells.loc[trial.cell, "norm"] == "detached"
        assert ("leaks" in marks) == leaks
        assert ("nonconforming" in marks) == faulty
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "a component reads the future" in page
