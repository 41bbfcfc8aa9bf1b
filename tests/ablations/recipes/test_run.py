"""A grid that starts from a recipe, carried out: one part away from it at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

import ablations

GRID = {
    "name": "smollm-with-other-parts",
    "recipe": "smollm2-135m",
    "scale_to": {"d_model": 48, "depth": 2, "context": 16},
    "model": {"vocab_size": 64},
    "design": "one_at_a_time",
    "factors": {
        "norm": ["rmsnorm", "layernorm"],
        "attention": [{"gqa": {"n_kv_heads": 2}}, "mha", "mqa"],
        "placement": ["post", "pre"],
    },
    "seeds": 2,
    "measures": ["parameters", "gradient_flow"],
}


@pytest.mark.slow
def test_each_level_is_compared_with_the_recipe_alone(tmp_path: Path) -> None:
    summary = ablations.run(ablations.load_grid(GRID), tmp_path / "run", executor="inline")
    assert summary.states == {"done": 2 * 5}
    frames = ablations.open_run(tmp_path / "run").frames()
    assert list(frames.cells["label"]) == [
        "norm=rmsnorm attention=gqa(n_kv_heads=2) placement=pre",
        "norm=layernorm attention=gqa(n_kv_heads=2) placement=pre",
        "norm=rmsnorm attention=mha placement=pre",
        "norm=rmsnorm attention=mqa placement=pre",
        "norm=rmsnorm attention=gqa(n_kv_heads=2) placement=post",
    ]
    origins = frames.settings.set_index("key")["origin"]
    told = {key: origins[key] for key in ("recipe", "d_model", "d_ff", "position.theta", "seeds")}
    assert told == {
        "recipe": "given",
        "d_model": "given",
        "d_ff": "scaled",
        "position.theta": "recipe",
        "seeds": "given",
    }
    effects = (tmp_path / "run" / "tables" / "effects.csv").read_text(encoding="utf-8")
    totals = [line.split(",") for line in effects.splitlines() if ",parameters.total," in line]
    assert {row[1]: float(row[5]) for row in totals} == {
        "layernorm": 5 * 48,  # a bias in each of five norms
        "mha": 2 * 2 * (6 - 2) * 8 * 48,  # keys and values of four more heads, in two blocks
        "mqa": -2 * 2 * (2 - 1) * 8 * 48,
        "post": -48,  # no final norm
    }
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "No cell changes two factors at once" in page
