"""Published parts as small distributions of strangers, installed, beside the built-in ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ablations
from tests.installed import Scratch

FACTORS = {
    "norm": ["layernorm", "dynamic_tanh"],
    "attention": ["mha", "gated_linear", "differential"],
    "feed_forward": ["mlp", "mixture_of_experts"],
    "initializer": ["normal", "mup"],
}
PARTS = {
    "differential": "differential 0.1.0",
    "dynamic_tanh": "dyt 0.1.0",
    "gated_linear": "gated-linear 0.1.0",
    "mixture_of_experts": "mixture-of-experts 0.1.0",
    "mup": "mup 0.1.0",
}
GRID = {
    "name": "published",
    "model": {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
    "factors": FACTORS,
    "seeds": 1,
    "measures": ["gradient_flow"],
}


@pytest.mark.slow
def test_they_pass_and_are_reported_beside_the_built_ins(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(json.dumps(GRID))
    run = scratch.ablate("run", "grid.yaml", "--out", "run", cwd=tmp_path)
    assert "24 trials: 24 done, " in run.stderr
    frames = ablations.open_run(tmp_path / "run").frames()
    assert set(frames.trials["marks"]) == {""}
    told = frames.components.set_index("name").loc[list(PARTS)]
    assert (told["plugin"] + " " + told["version"]).to_dict() == PARTS
    for name, found in told["conformance"].items():
        assert re.fullmatch(r"passed \d+ checks", found), (name, found)
    effects = set(frames.factors[["factor", "level"]].itertuples(index=False, name=None))
    assert effects >= {(factor, level) for factor, levels in FACTORS.items() for level in levels}
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    for name in PARTS:
        assert page.count(name) > 2
    assert "nonconforming" not in page
