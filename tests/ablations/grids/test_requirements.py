"""Plugins that must be there, in versions that a grid takes."""

from __future__ import annotations

from pathlib import Path

from registry import PluginRecord
from tests.ablations.loading import HEAD, refused


def test_faults_of_requirements(tmp_path: Path) -> None:
    text = "factors: {norm: [layernorm]}\nrequires: [ablations>=9, ablation, '>=1', 'a[b]']\n"
    assert refused(tmp_path, HEAD + text) == [
        "grid.yaml:4:12: requires[0]: needs ablations>=9, but 0.1 is installed",
        "grid.yaml:4:26: requires[1]: plugin 'ablation' is not installed; "
        "did you mean 'ablations'? known: ablations",
        "grid.yaml:4:36: requires[2]: expected a plugin and its versions, "
        "such as 'my-plugin>=1.2', not '>=1'",
        "grid.yaml:4:43: requires[3]: expected a name and versions alone, "
        "such as 'my-plugin>=1.2', not 'a[b]'",
    ]


def test_requirements_look_at_what_failed_and_at_versions(tmp_path: Path) -> None:
    broken = PluginRecord(name="My_Plugin:x", version="2", state="failed", message="no module")
    undated = PluginRecord(name="module", version="", state="loaded")
    text = HEAD + "factors: {norm: [layernorm]}\nrequires: [my-plugin, module>=1]\n"
    assert refused(tmp_path, text, broken, undated) == [
        "grid.yaml:4:12: requires[0]: plugin 'My_Plugin:x' failed to load: no module",
        "grid.yaml:4:23: requires[1]: needs module>=1, but it has no version",
    ]
