"""Plugins that must be there, in versions that a grid takes."""

from __future__ import annotations

from pathlib import Path

from ablations.grids.requirements import unmet
from registry import Catalog, LeftOut, PluginRecord
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


def test_versions_are_those_of_the_distribution_however_it_is_written() -> None:
    found = PluginRecord(name="My_Plugin:x", version="1.2rc1", state="loaded")
    catalog = Catalog([found, PluginRecord(name="mine", version="3", state="loaded", asked=True)])
    for text in ("my-plugin", "MY.plugin>=1.0,!=1.1", "my_plugin ~= 1.2rc0", "mine==3"):
        assert unmet(text, catalog) == ""
    assert unmet("my-plugin>1.2", catalog) == "needs my-plugin>1.2, but 1.2rc1 is installed"
    odd = Catalog([PluginRecord(name="odd:x", version="from trunk", state="loaded")])
    assert unmet("odd", odd) == ""
    assert unmet("odd>=1", odd) == "needs odd>=1, but from trunk is installed"


def test_a_plugin_that_is_left_out_is_no_missing_one() -> None:
    left = LeftOut(name="My_Plugin:x", version="1", by="ABLATIONS_NO_PLUGINS=1")
    assert unmet("my-plugin>=1", Catalog([], [left])) == (
        "plugin 'My_Plugin:x' is left out by ABLATIONS_NO_PLUGINS=1"
    )
