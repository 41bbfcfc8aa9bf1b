"""Another package of one of our common names must be told from ours, and not be run."""

import subprocess
import sys
from pathlib import Path

import pytest

from ablations.shadow import shadowed

ROOT = Path(__file__).parents[2]


def test_nothing_hides_ours_here():
    assert shadowed() == []


@pytest.mark.parametrize("name", ["registry", "components", "reports"])
@pytest.mark.parametrize("form", ["package", "namespace", "module"])
def test_a_package_in_the_current_folder_is_named_with_the_way_out(tmp_path, name, form):
    if form == "module":
        stranger = tmp_path / f"{name}.py"
        stranger.write_text("raise SystemExit('was run')\n")
        told = stranger
    else:
        folder = tmp_path / name
        folder.mkdir()
        stranger = folder / ("__init__.py" if form == "package" else "other.txt")
        stranger.write_text("raise SystemExit('was run')\n")
        told = stranger if form == "package" else folder
    ended = subprocess.run(
        [sys.executable, "-m", "ablations", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if form == "namespace":
        # A folder without __init__.py comes after an installed package, so it hides nothing.
        assert (ended.returncode, ended.stderr) == (0, "")
        return
    assert ended.returncode == 3
    assert ended.stderr == (
        f"{told} hides the package {name!r} of ablations; start from another folder, or with the "
        "console script 'ablations', or with 'python -P -m ablations'\n"
    )
    assert ended.stdout == ""


@pytest.mark.parametrize("arguments", [["-P", "-m", "ablations"], None])
def test_the_ways_out_work(tmp_path, arguments):
    for name in ("registry", "reports"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('was run')\n")
    script = Path(sys.executable).parent / "ablations"
    command = [sys.executable, *arguments] if arguments else [str(script)]
    ended = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 0


def test_a_package_installed_over_ours_is_named(tmp_path, monkeypatch):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "reports", raising=False)
    assert shadowed() == [
        f"{tmp_path / 'reports' / '__init__.py'} hides the package 'reports' of ablations; another "
        "distribution installed it over ours: install ablations into an environment of its own"
    ]


def test_importing_from_python_says_the_same(tmp_path):
    (tmp_path / "registry.py").write_text("")
    ended = subprocess.run(
        [sys.executable, "-c", "import ablations; ablations.run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{tmp_path / 'registry.py'} hides the package 'registry'" in ended.stderr
