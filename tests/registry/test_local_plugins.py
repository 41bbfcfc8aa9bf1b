"""Plugins asked for by a module's name or a path, beside those that are installed."""

from __future__ import annotations

import os
import pickle
import re
import sys
from pathlib import Path

import pytest

from registry import AmbiguousName, Catalog, PluginError, discover
from registry.discovery import with_plugins
from registry.local_plugins import LocalPlugin, locate
from tests.registry.local import write
from tests.registry.plugins import entry, norm, plugin

BUILT_IN = entry(plugin(norm("layernorm")), "ablations")
HERE = Path()


def asked(*names: str) -> Catalog:
    return discover([BUILT_IN], plugins=names, environment={})


def refused(*names: str) -> str:
    with pytest.raises(PluginError) as caught:
        asked(*names)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("mine.py", "mine"),
        ("./mine.py", "mine"),
        ("mine", "mine"),
        ("deep/er/mine.py", "mine"),
        ("pack", "pack"),
        ("./pack", "pack"),
        ("pack/__init__.py", "pack"),
        ("pack/norms.py", "pack.norms"),
        ("pack.norms", "pack.norms"),
        ("spaces/norms.py", "norms"),
        ("spaces.norms", "spaces.norms"),
    ],
)
def test_a_module_a_file_or_a_package(folder: Path, name: str, module: str) -> None:
    for path in ("mine.py", "deep/er/mine.py", "pack/__init__.py", "pack/norms.py"):
        write(folder / path)
    write(folder / "spaces/norms.py")
    catalog = asked(name)
    spec = catalog.component("norm", "mine")
    assert (str(spec.provenance), spec.provenance.entry_point) == (module, "")
    (record,) = (record for record in catalog.plugins if record.asked)
    assert (record.name, record.version, record.state) == (module, "", "loaded")
    path = Path(record.path)
    assert path.is_file() or (path / "__init__.py").is_file()
    assert catalog.choose(spec, {}).load().__module__ == module


def test_paths_start_where_they_are_said_to(folder: Path) -> None:
    beside = write(folder.parent / "elsewhere" / "mine.py")
    catalog = discover([BUILT_IN], environment={})
    found = with_plugins(catalog, ["mine.py"], beside.parent)
    assert found.plugins[-1].path == str(beside)
    assert [record.name for record in catalog.plugins] == ["ablations:plugin"]
    assert with_plugins(catalog, [str(beside)]).plugins == found.plugins


def test_its_version_is_what_the_module_says(folder: Path) -> None:
    write(folder / "mine.py", more="__version__ = '3.1'\n")
    write(folder / "odd.py", "other", more="__version__ = (1, 2)\n")
    catalog = asked("mine.py", "odd.py")
    assert str(catalog.component("norm", "mine").provenance) == "mine 3.1"
    assert str(catalog.component("norm", "other").provenance) == "odd"


def test_its_folder_comes_last_where_python_looks(folder: Path) -> None:
    write(folder / "deep/mine.py")
    (folder / "deep" / "json.py").write_text("raise SystemExit('imported')\n")
    asked("deep/mine.py")
    assert sys.path[-1] == str(folder / "deep")
    asked("deep/mine.py")
    assert sys.path.count(str(folder / "deep")) == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.py", "no such file or folder"),
        ("./nowhere", "no such file or folder"),
        ("bare/", "is no package: the folder has no __init__.py"),
        (
            "grid.yaml",
            "is neither a module's name, the path of a .py file or that of a package's folder",
        ),
        (
            "my-norm.py",
            "cannot be imported as 'my-norm': rename it to letters, digits and underscores, "
            "a letter first",
        ),
        (
            "class.py",
            "cannot be imported as 'class': rename it to letters, digits and underscores, "
            "a letter first",
        ),
        (
            "nowhere",
            "no module of that name is installed or lies in the current directory; a path ends "
            "in '.py' or has a '/'",
        ),
        (
            "my-norm",
            "is neither a module's name, the path of a .py file or that of a package's folder; "
            "a path ends in '.py' or has a '/'",
        ),
        (
            "",
            "is neither a module's name, the path of a .py file or that of a package's folder; "
            "a path ends in '.py' or has a '/'",
        ),
        ("ablations.py", "'ablations' is this tool's own name: give it another one"),
        ("Ablations.py", "'Ablations' is this tool's own name: give it another one"),
        ("broken.py", "import failed: ModuleNotFoundError: No module named 'a_module_of_nobody'"),
        ("exits.py", "import failed: SystemExit: 3"),
        ("bad_spec.py", "import failed: the kind of 'a' is one of "),
        ("none.py", "implements no hook (with @hookimpl); hooks: "),
        ("taken.py", "norm 'layernorm' is built in: choose another name"),
        ("old.py", "is made for version 9 of the plugin interface, not 1: "),
    ],
)
def test_what_cannot_be_used_is_told(folder: Path, name: str, reason: str) -> None:
    for file in ("my-norm.py", "class.py", "Ablations.py", "ablations.py"):
        write(folder / file)
    (folder / "bare").mkdir()
    (folder / "grid.yaml").touch()
    (folder / "none.py").touch()
    (folder / "exits.py").write_text("raise SystemExit(3)\n")
    (folder / "bad_spec.py").write_text(
        "from registry import ComponentSpec\nComponentSpec(kind='nrom', name='a', target='a:A')\n"
    )
    write(folder / "broken.py", more="import a_module_of_nobody\n")
    write(folder / "taken.py", "layernorm")
    write(folder / "old.py", more="ablations_api = 9\n")
    message = refused(name)
    assert message.startswith(f"plugin {name!r}: {reason}")
    assert "\n" not in message


def test_every_fault_is_told_in_the_order_asked(folder: Path) -> None:
    write(folder / "taken.py", "layernorm")
    write(folder / "mine.py")
    assert refused("taken.py", "mine.py", "nowhere.py", "taken.py") == (
        "plugin 'taken.py': norm 'layernorm' is built in: choose another name\n"
        "plugin 'nowhere.py': no such file or folder"
    )
    error = PluginError([("a", "is bad"), ("b", "is worse")])
    assert pickle.loads(pickle.dumps(error)).findings == error.findings


def test_a_name_that_python_knows_otherwise_is_no_silent_choice(folder: Path) -> None:
    write(folder / "json.py")
    write(folder / "sys.py")
    assert refused("json.py") == (
        f"plugin 'json.py': Python imports {Path(os.__file__).parent / 'json'} as 'json', not "
        f"what lies in {folder}: give it another name"
    )
    assert refused("json") == refused("json.py").replace("'json.py'", "'json'")
    assert "Python imports a module of Python itself as 'sys', not what" in refused("sys.py")


def test_two_files_of_one_name_are_not_mixed_up(folder: Path) -> None:
    write(folder / "a" / "mine.py")
    write(folder / "b" / "mine.py", scale=2)
    asked("a/mine.py")
    assert refused("b/mine.py") == (
        f"plugin 'b/mine.py': Python imports {folder / 'a' / 'mine.py'} as 'mine', not what lies "
        f"in {folder / 'b'}: give it another name"
    )


def test_an_installed_module_needs_no_folder(folder: Path) -> None:
    assert locate("pluggy", HERE) == LocalPlugin(module="pluggy")
    assert locate("json.tool", HERE) == LocalPlugin(module="json.tool")
    assert locate("sys", HERE) == LocalPlugin(module="sys")


def test_what_an_entry_point_has_loaded_counts_once(folder: Path) -> None:
    write(folder / "mine.py")
    asked("mine.py")
    module = sys.modules["mine"]
    points = [BUILT_IN, entry(module, "packaged", "mine")]
    catalog = discover(points, plugins=["mine", "mine.py"], environment={})
    records = [(r.name, r.version, r.asked, r.path) for r in catalog.plugins]
    assert records == [
        ("ablations:plugin", "1.0", False, ""),
        ("packaged:mine", "1.0", True, str(folder / "mine.py")),
    ]
    assert catalog.component("norm", "mine").provenance.distribution == "packaged"


def test_asking_by_name_for_one_that_failed_gives_its_reason(folder: Path) -> None:
    write(folder / "mine.py", "layernorm")
    (folder / "empty.py").write_text(
        "from registry import hookimpl\n\n@hookimpl\ndef register_components(): return []\n"
    )
    write(folder / "fine.py")
    asked("fine.py")
    with pytest.raises(PluginError, match="registers nothing"):
        asked("empty.py")
    points = [BUILT_IN, entry(sys.modules["fine"]), entry(sys.modules["fine"], "z")]
    catalog = discover(points, plugins=["fine.py"], environment={})
    assert [record.state for record in catalog.plugins] == ["loaded", "loaded", "failed"]


def test_one_that_failed_is_read_anew_when_asked_again(folder: Path) -> None:
    write(folder / "pack/__init__.py", "layernorm", more="import pack.helper\n")
    (folder / "pack" / "helper.py").touch()
    refused("pack")
    assert not {"pack", "pack.helper"} & set(sys.modules)
    write(folder / "pack/__init__.py", "better")
    assert asked("pack").component("norm", "better").provenance.distribution == "pack"


def test_the_same_name_from_two_plugins_is_ambiguous_where_it_is_used(folder: Path) -> None:
    write(folder / "one.py")
    write(folder / "other.py")
    catalog = asked("one.py", "other.py")
    message = "norm 'mine' is registered by several plugins; write one/mine or other/mine"
    with pytest.raises(AmbiguousName, match=f"^{re.escape(message)}$"):
        catalog.component("norm", "mine")
    assert catalog.choose(catalog.component("norm", "other/mine"), {}).name == "other/mine"


def test_settings_of_installed_plugins_leave_those_asked_for_alone(folder: Path) -> None:
    write(folder / "mine.py")
    points = [BUILT_IN, entry(plugin(norm("theirs")), "theirs")]
    catalog = discover(points, plugins=["mine"], environment={"ABLATIONS_NO_PLUGINS": "1"})
    assert [record.name for record in catalog.plugins] == ["ablations:plugin", "mine"]
    assert [left.name for left in catalog.left_out] == ["theirs:plugin"]


def test_a_choice_finds_its_class_where_the_folder_is_not_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "deep/mine.py", scale=7)
    catalog = asked("deep/mine.py")
    sent = pickle.dumps((catalog, catalog.choose(catalog.component("norm", "mine"), {})))
    # As in another process: neither imported nor on the path.
    del sys.modules["mine"]
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(folder / "deep")])
    monkeypatch.chdir("/")
    arrived, choice = pickle.loads(sent)
    assert choice.load().scale == 7
    assert arrived.options(arrived.component("norm", "mine")) == ()


def test_a_choice_never_loads_another_file_of_the_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "deep/mine.py", scale=7)
    catalog = asked("deep/mine.py")
    choice = catalog.choose(catalog.component("norm", "mine"), {})
    del sys.modules["mine"]
    write(folder.parent / "first" / "mine.py", scale=8)
    sys.path.insert(0, str(folder.parent / "first"))
    message = (
        f"Python imports {folder.parent / 'first' / 'mine.py'} as 'mine', not what lies in "
        f"{folder / 'deep'}: give it another name"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        choice.load()


def test_ctrl_c_while_it_is_imported_is_nobodys_failure(folder: Path) -> None:
    (folder / "slow.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        asked("slow.py")
