"""Where Python finds a module, and that a folder's own one is meant."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from registry.errors import InvalidSpec
from registry.importing import check_from, is_from, make_importable, module_in, origins


def test_a_module_is_a_package_a_file_or_a_bare_folder(folder: Path) -> None:
    for name in ("pack", "bare"):
        (folder / name).mkdir()
    (folder / "pack" / "__init__.py").touch()
    for name in ("pack", "file", "bare"):
        (folder / f"{name}.py").touch()
    home = str(folder)
    assert module_in(home, "pack") == folder / "pack"  # as Python prefers it
    assert module_in(home, "bare") == folder / "bare.py"
    assert module_in(home, "file") == folder / "file.py"
    (folder / "bare.py").unlink()
    assert module_in(home, "bare") == folder / "bare"
    assert module_in(home, "none") is None


def test_origins_are_told_without_an_import(folder: Path) -> None:
    (folder / "loud.py").write_text("raise SystemExit\n")
    (folder / "bare").mkdir()
    assert list(origins("loud")) == []
    make_importable(str(folder))
    assert list(origins("loud")) == [folder / "loud.py"]
    assert list(origins("bare")) == [folder / "bare"]
    assert list(origins("sys")) == list(origins("never_there")) == []
    assert "loud" not in sys.modules


def test_a_file_made_after_the_folder_was_searched_is_found(folder: Path) -> None:
    make_importable(str(folder))
    assert importlib.util.find_spec("later_made") is None
    (folder / "later_made.py").touch()
    make_importable(str(folder))
    assert is_from(str(folder), "later_made")


def test_another_module_of_the_name_is_refused(folder: Path) -> None:
    make_importable(str(folder))
    check_from(str(folder), "json")  # nothing of the folder's is meant
    (folder / "json").mkdir()
    other = Path(str(importlib.util.find_spec("json").submodule_search_locations[0]))  # type: ignore[union-attr,index]
    message = f"Python imports {other} as 'json', not what lies in {folder}: give it another name"
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        check_from(str(folder), "json")
    assert not is_from(str(folder), "json")


def test_modules_made_by_hand_lie_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = type(sys)("made_by_hand")
    monkeypatch.setitem(sys.modules, "made_by_hand", made)
    assert list(origins("made_by_hand")) == []


def test_a_link_to_the_folder_is_the_folder(folder: Path) -> None:
    real = folder / "real"
    real.mkdir()
    (real / "linked_to.py").touch()
    (folder / "link").symlink_to(real)
    make_importable(str(real))
    assert is_from(str(folder / "link"), "linked_to")
