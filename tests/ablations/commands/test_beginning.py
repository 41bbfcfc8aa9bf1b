"""Grids to start from; plugins are in test_new_plugin."""

import json

OPTIONAL_KEYS = (
    "exclude", "placebo", "dtype", "threads", "timeout", "memory", "requires", "design",
)  # fmt: skip


def test_new_grid_runs_as_it_is_and_overwrites_nothing(inline, tmp_path):
    assert inline("new", "grid")[:2] == (0, "grid.yaml\n")
    status, out, _ = inline("plan", "grid.yaml", "--json")
    assert status == 0
    assert json.loads(out)["cells"] == 16
    status, _, err = inline("new", "grid")
    assert (status, err) == (2, "grid.yaml exists and is left as it is; give another path\n")


def test_every_example_in_a_new_grid_is_valid(inline, tmp_path):
    inline("new", "grid", "grid.yaml")
    text = (tmp_path / "grid.yaml").read_text(encoding="utf-8")
    keys = ("  - {", *(f"{key}:" for key in OPTIONAL_KEYS))
    lines = [
        line.removeprefix("# ") if line.removeprefix("# ").startswith(keys) else line
        for line in text.splitlines()
    ]
    (tmp_path / "grid.yaml").write_text("\n".join(lines))
    status, out, _ = inline("plan", "grid.yaml", "--json")
    assert status == 0
    assert json.loads(out)["skipped"][0]["reason"] == "nobody builds it"
