"""What a plugin imports from its own folder counts as its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from ablations.neighbours import neighbours
from registry.importing import make_importable


@pytest.fixture
def home(folder: Path) -> str:
    make_importable(str(folder))
    return str(folder)


def test_every_import_statement_counts_wherever_it_stands(folder: Path, home: str) -> None:
    (folder / "mine.py").write_text(
        "import near_a.x\n"
        "from near_b import thing\n"
        "import json, near_c as c\n"
        "def f():\n    from near_d import y\n"
    )
    for name in ("near_a", "near_b", "near_c", "near_d", "far"):
        (folder / f"{name}.py").touch()
    assert neighbours("mine", home) == ["mine", "near_a", "near_b", "near_c", "near_d"]


def test_neighbours_of_neighbours_count_and_circles_end(folder: Path, home: str) -> None:
    (folder / "mine.py").write_text("import near_a\n")
    (folder / "near_a").mkdir()
    (folder / "near_a" / "__init__.py").write_text("from . import inner\n")
    (folder / "near_a" / "inner.py").write_text("import near_b\nfrom .other import x\n")
    (folder / "near_b.py").write_text("import mine\n")
    (folder / "inner.py").touch()
    assert neighbours("mine", home) == ["mine", "near_a", "near_b"]


def test_what_python_finds_elsewhere_is_no_neighbour(folder: Path, home: str) -> None:
    (folder / "mine.py").write_text("import json, registry\n")
    for name in ("json", "registry"):
        (folder / f"{name}.py").touch()
    assert neighbours("mine", home) == ["mine"]


def test_this_package_beside_a_plugin_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(Path(__file__).parents[2])
    assert neighbours("tests", home) == ["tests"]
    assert neighbours("registry", home) == []


def test_what_is_no_python_imports_nothing(folder: Path, home: str) -> None:
    (folder / "mine.py").write_text("import near\nprint 'old'\n")
    (folder / "near.py").touch()
    assert neighbours("mine", home) == ["mine"]
    (folder / "mine.py").write_bytes(b"import near\0\n")
    assert neighbours("mine", home) == ["mine"]
