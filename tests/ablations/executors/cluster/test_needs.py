"""What a node must have: the same versions and the same files, or a word on what differs."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from ablations.executors.cluster import needs
from ablations.executors.cluster.needs import Need, lacking, needs_of


@pytest.fixture(autouse=True)
def forgotten() -> None:
    needs._need.cache_clear()


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of a distribution, my-plugin 1.2."""
    (tmp_path / "its_module.py").write_text("a = 1\n")
    info = tmp_path / "my_plugin-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.2\n")
    (info / "top_level.txt").write_text("its_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_this_machine_lacks_nothing_of_what_it_has_itself(plugin: Path) -> None:
    common = needs_of()
    assert {need.module for need in common} == {
        "python", "torch", "numpy", "ablations", "components", "registry", "reports",
    }  # fmt: skip
    assert all(need.version for need in common)
    assert lacking([*common, *needs_of({"its_module"})]) == []


def test_a_plugin_is_its_distribution_with_its_version_and_files(plugin: Path) -> None:
    (need,) = needs_of({"its_module"})
    assert (need.module, need.told, need.home) == ("its_module", "my-plugin 1.2", "")
    assert lacking([replace(need, version="1.3")]) == ["my-plugin 1.3 is needed, 1.2 is there"]
    (plugin / "its_module.py").write_text("a = 2\n")
    assert lacking([need]) == [
        "the files of my-plugin 1.2 (its_module) differ from those it is to be measured by"
    ]


def test_what_is_not_there_is_named(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (need,) = needs_of({"its_module"})
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != str(plugin)])
    assert lacking([need]) == ["my-plugin 1.2 is needed, none is there"]
    bare = Need(module="its_module", digest=need.digest)
    assert lacking([bare]) == ["its_module is needed, and no module 'its_module' is there"]


def test_a_plugin_that_is_not_installed_is_looked_for_where_it_lies(
    plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (need,) = needs_of({"its_module"})
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != str(plugin)])
    assert lacking([Need(module="its_module", digest=need.digest, home=str(plugin))]) == []


def test_versions_of_what_is_below_are_compared() -> None:
    wanted = [
        Need(module="python", version="2.7.18"),
        Need(module="torch", distribution="torch", version="0.1"),
    ]
    assert lacking(wanted) == [
        f"Python 2.7.18 is needed, {platform.python_version()} is there",
        f"torch 0.1 is needed, {version('torch')} is there",
    ]


def test_a_script_stays_where_it_is() -> None:
    assert lacking(needs_of({"__main__"})) == [
        "what is defined in the script that is run, which stays here: put it into a module"
    ]
