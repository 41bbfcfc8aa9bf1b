"""Two run directories side by side, and what is said of those that are none."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ablations import cli
from ablations.comparing import CannotCompare, compare_directories
from ablations.store import NoRun, Store
from tests.ablations.stores import PLAN, result


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of the same plan: of other code in one cell, with another state in another."""
    for name, value, state in (("one", 1.0, "done"), ("two", 2.0, "failed")):
        with Store.create_or_open(tmp_path / name) as store:
            store.begin(PLAN if name == "one" else replace(PLAN, name="other"))
            for seed in (7, 3):
                store.record(result("a", seed, metrics={"flow.ratio": value + seed}))
                store.record(result("b", seed, state=state, metrics={"flow.ratio": 3.0 + seed}))
    return tmp_path / "one", tmp_path / "two"


def test_two_runs(runs: tuple[Path, Path]) -> None:
    comparison = compare_directories(*runs)
    assert [run.name for run in comparison.runs] == [str(path) for path in runs]
    assert [(one.what, one.first, one.second) for one in comparison.changes] == [
        ("name", "norms", "other")
    ]
    assert comparison.states[["first", "second", "n"]].to_numpy().tolist() == [
        ["done", "failed", 2]
    ]
    assert (comparison.shared.n_alike, comparison.shared.n_differing) == (4, 2)


def refused(first: Path, second: Path, kind: type[Exception] = NoRun) -> str:
    with pytest.raises(kind) as raised:
        compare_directories(first, second)
    return str(raised.value)


def test_a_directory_without_a_run(runs: tuple[Path, Path], tmp_path: Path) -> None:
    assert refused(runs[0], tmp_path) == f"{tmp_path} holds no run: there is no results.sqlite"
    gone = tmp_path / "gone"
    for second in (runs[0], gone):
        told = f"{gone} holds no run: there is no results.sqlite"
        assert refused(gone, second) == told


def test_the_same_directory_twice(runs: tuple[Path, Path], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(runs[0])
    assert (
        refused(runs[0], link, CannotCompare) == f"{runs[0]} and {link} are the same run: give two"
    )


def test_a_directory_in_which_nothing_was_begun(runs: tuple[Path, Path], tmp_path: Path) -> None:
    Store.create_or_open(tmp_path / "new").close()
    assert refused(runs[0], tmp_path / "new") == (
        f"{tmp_path / 'new'}: nothing has been run in this directory yet"
    )


def test_the_command_writes_a_page_and_says_the_same_in_short(
    runs: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run_command_line(["compare", "one", "two"]) == 0
    told = capsys.readouterr()
    assert told.out == "comparison.html\n"
    assert told.err.splitlines()[:2] == [
        "first: one: 6 trials, 4 done, 2 skipped",
        "second: two: 6 trials, 2 done, 2 failed, 2 skipped",
    ]
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "Two runs compared" in page
    assert cli.run_command_line(["compare", "one", "two", "--out", "x/y.html"]) == 0
    assert capsys.readouterr().out == "x/y.html\n"
    assert (tmp_path / "x" / "y.html").is_file()
    assert cli.run_command_line(["compare", "one", "one"]) == 2
    assert capsys.readouterr().err == "one and one are the same run: give two\n"


def test_reading_needs_no_torch(runs: tuple[Path, Path], tmp_path: Path) -> None:
    code = (
        "import sys; from ablations.cli import run_command_line\n"
        f"assert run_command_line(['compare', {str(runs[0])!r}, {str(runs[1])!r}]) == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
