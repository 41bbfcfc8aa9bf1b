"""Plugins that a grid brings along, and the grid that a run keeps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from ablations.grids.parsing import parse
from ablations.grids.plugins import kept_text
from ablations.grids.settings import Setting
from ablations.sources import StaleSource
from registry import PluginError
from tests.ablations.dummies import parts
from tests.registry.local import write

TEXT = """\
name: x
plugins: [norms/mine.py]  # our own

# what varies
factors: {norm: [layernorm, mine]}
measures: [gradient_flow]
"""
FORMS = "a module's name, the path of a .py file or that of a package's folder"


@pytest.fixture
def project(folder: Path) -> Path:
    """A folder with a plugin, that is not the current one."""
    project = folder.parent / "project"
    write(project / "norms" / "mine.py")
    return project


def load(project: Path, text: str = TEXT, plugins: tuple[str, ...] = ()) -> Grid:
    (project / "grid.yaml").write_text(text, encoding="utf-8")
    return load_grid(project / "grid.yaml", parts(), plugins=plugins)


def refused(project: Path, text: str) -> list[str]:
    with pytest.raises(GridError) as caught:
        load(project, text)
    return str(caught.value).replace(f"{project}/", "").splitlines()


def test_paths_are_relative_to_the_grids_file(project: Path) -> None:
    grid = load(project)
    assert grid.catalog.component("norm", "mine").provenance.distribution == "mine"
    assert [level.label for level in grid.factors[0].levels] == ["layernorm", "mine"]
    assert Setting("plugins", "[mine]", "given") in grid.settings()


def test_paths_of_a_mapping_and_of_arguments_are_relative_to_the_current_folder(
    project: Path,
) -> None:
    data = parse(TEXT).data
    with pytest.raises(GridError, match="no such file or folder"):
        load_grid(data, parts())
    os.chdir(project)
    assert load_grid(data, parts()).catalog.component("norm", "mine")
    own = {key: value for key, value in data.items() if key != "plugins"}
    grid = load_grid(own, parts(), plugins=["norms/mine.py"])
    assert Setting("plugins", "[mine]", "given") in grid.settings()
    with pytest.raises(PluginError, match=r"^plugin 'mine\.py': no such file or folder$"):
        load_grid(own, parts(), plugins=["mine.py"])


def test_without_plugins_the_setting_is_the_default(project: Path) -> None:
    grid = load(project, "name: x\nfactors: {norm: [layernorm, rmsnorm]}\nmeasures: [parameters]\n")
    assert Setting("plugins", "[]", "default") in grid.settings()


def test_faults_of_plugins_are_told_with_those_of_the_form(project: Path) -> None:
    write(project / "taken.py", "layernorm")
    text = TEXT.replace("[norms/mine.py]", "[norms/mine.py, ./mine.py,\n  taken.py, grid.yaml]")
    assert refused(project, f"{text}seedz: 3\n") == [
        "grid.yaml:2:26: plugins[1]: no such file or folder",
        "grid.yaml:3:3: plugins[2]: norm 'layernorm' is built in: choose another name",
        "grid.yaml:3:13: plugins[3]: is neither " + FORMS,
        "grid.yaml:8:1: seedz: unknown key; did you mean 'seeds'? known: baseline, design, device, "
        "dtype, exclude, executor, factors, measures, memory, model, name, placebo, plugins, "
        "recipe, requires, scale_to, seeds, threads, timeout",
    ]


def test_a_form_that_is_wrong_is_told_as_such(project: Path) -> None:
    plugin = "a module's name, or the path of a .py file or of a package's folder"
    assert refused(project, TEXT.replace("[norms/mine.py]", "norms/mine.py"))[0] == (
        "grid.yaml:2:10: plugins: expected a list of modules and paths, not 'norms/mine.py'"
    )
    assert refused(project, TEXT.replace("[norms/mine.py]", "[norms/mine.py, {a: 1}]"))[0] == (
        f"grid.yaml:2:26: plugins[1]: expected {plugin}, not a mapping of 1"
    )


def test_no_plugins_is_the_stronger_word(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABLATIONS_NO_PLUGINS", "1")
    assert refused(project, TEXT) == [
        "grid.yaml:2:1: plugins: ABLATIONS_NO_PLUGINS=1 keeps plugins out: unset it, or name them "
        "with --plugin"
    ]
    own = TEXT.replace("plugins: [norms/mine.py]", "")
    assert load(project, own, (str(project / "norms/mine.py"),)).catalog.component("norm", "mine")


def test_an_edited_file_is_not_measured_by_its_old_code(project: Path) -> None:
    load(project)
    write(project / "norms" / "mine.py", scale=2)
    with pytest.raises(StaleSource, match=r"^the files of 'mine' were edited after this process"):
        load(project)


def kept(grid: Grid, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return kept_text(grid.document, grid.catalog, folder)


def again(text: str, folder: Path) -> Grid:
    """The grid that was kept, loaded from where it lies."""
    (folder / "grid.yaml").write_text(text)
    return load_grid(folder / "grid.yaml", parts())


def test_a_kept_grid_finds_its_plugins_from_where_it_lies(project: Path, folder: Path) -> None:
    out = folder / "runs" / "x"
    text = kept(load(project), out)
    assert text == TEXT.replace(
        "plugins: [norms/mine.py]  # our own", "plugins:\n- ../../../project/norms/mine.py"
    )
    grid = again(text, out)
    assert grid.catalog.component("norm", "mine")
    assert kept(grid, out) == text  # and again


def test_a_kept_grid_names_what_the_command_line_asked_for(project: Path, folder: Path) -> None:
    own = TEXT.replace("plugins: [norms/mine.py]  # our own\n", "").rstrip("\n")
    text = kept(load(project, own, ("../project/norms/mine.py",)), project)
    assert text == f"{own}\nplugins:\n- norms/mine.py\n"
    assert again(text, project).catalog.component("norm", "mine")


def test_a_kept_grid_is_the_text_as_it_was_where_nothing_is_asked_for(project: Path) -> None:
    own = "name: x\nfactors: {norm: [layernorm, rmsnorm]}  # two\nmeasures: [parameters]\n"
    assert kept(load(project, own), project / "run") == own
    assert kept(load(project), project) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "{name: x, plugins: [norms/mine.py], factors: {norm: [mine]}, measures: [gradient_flow]}",
        "name: x\nplugins: [&p norms/mine.py]\nfactors: {norm: [mine]}\nmeasures: [gradient_flow]\n"
        "exclude: [{norm: mine, because: *p}]\n",
        "name: x\nfactors: {norm: [layernorm, mine]}\nmeasures: [gradient_flow]\n"
        "plugins:\n  - norms/mine.py\n# the end\n",
    ],
    ids=["braces", "alias", "last"],
)
def test_whatever_its_form_a_kept_grid_says_the_same(project: Path, text: str) -> None:
    out = project / "runs" / "x"
    grid = load(project, text)
    written = parse(kept(grid, out)).data
    assert written == {**parse(text).data, "plugins": ["../../norms/mine.py"]}


def test_a_package_beside_the_kept_grid_is_a_path_still(project: Path) -> None:
    write(project / "pack" / "__init__.py", "packed")
    grid = load(project, TEXT.replace("norms/mine.py", "./pack").replace("mine", "packed"))
    assert parse(kept(grid, project)).data["plugins"] == ["./pack"]
    inside = kept(load(project, TEXT.replace("norms/mine.py", "pack/")
                       .replace("mine", "packed")), project / "run")  # fmt: skip
    assert parse(inside).data["plugins"] == ["../pack"]


def test_an_installed_module_is_kept_by_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import registry.local_plugins as module

    monkeypatch.setattr(module, "_installed_folders", lambda: frozenset([str(project / "norms")]))
    sys.path.insert(0, str(project / "norms"))
    grid = load(project, TEXT.replace("norms/mine.py", "mine"))
    assert kept(grid, project / "run") == grid.text
