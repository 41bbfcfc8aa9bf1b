"""A package to start from: what it is called, and that it works as it is written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ablations
from ablations import cli, engine
from ablations.new_plugin import BESIDE, CannotBegin, class_name, module_name, write_plugin
from registry import Kind, discover
from tests.installed import ROOT, install

Command = Callable[..., tuple[int, str, str]]
KINDS = [str(kind) for kind in Kind]


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process; returns its status, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = cli.run_command_line([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("name", "snake", "kind", "cls"),
    [
        ("my-norm", "my_norm", Kind.NORM, "MyNorm"),
        ("DyT_2", "dyt_2", Kind.NORM, "Dyt2Norm"),
        ("a--b-_c", "a_b_c", Kind.FEED_FORWARD, "ABCFeedForward"),
        ("tensor", "tensor", Kind.ATTENTION, "TensorAttention"),
        ("x" * 32, "x" * 32, Kind.POSITION, "X" + "x" * 31 + "Position"),
    ],
)
def test_names_are_derived(name: str, snake: str, kind: Kind, cls: str) -> None:
    assert module_name(name, discover()) == snake
    assert class_name(snake, kind) == cls


FORM = (
    "the name of a plugin has at most 32 letters a to z, digits, hyphens and underscores, a letter "
    "first and no hyphen or underscore last, not "
)


@pytest.mark.parametrize(
    "name",
    ["", "-a", "1a", "_a", "a-", "a_", "a.b", "a b", "a/b", "../a", "é", "x" * 33, "<b>", "a\n"],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(CannotBegin) as caught:
        module_name(name, discover())
    assert str(caught.value) == f"{FORM}{name!r:.80}"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mha", "is a built-in attention"),
        ("LayerNorm", "is a built-in norm"),
        ("gradient-flow", "is a built-in measure"),
        ("inline", "is a built-in executor"),
        ("Class", "is a word of Python"),
        ("layers", "is a word of grids"),
        ("json", "is a module of Python's own"),
        ("components", "is a module that is needed here"),
        ("tests", "is a module that is needed here"),
        ("Torch", "would hide torch, which is installed"),
        ("annotated-types", "would hide annotated-types, which is installed"),
        ("ruamel.yaml".replace(".", "-"), "would hide ruamel.yaml, which is installed"),
    ],
)
def test_a_name_that_is_not_free_is_refused(command: Command, name: str, reason: str) -> None:
    status, out, err = command("new", "plugin", name)
    snake = name.lower().replace("-", "_")
    start = f"{name} would make a module and a component {snake!r}, which {reason}: choose another"
    assert (status, out) == (2, "")
    assert err.removesuffix(" name\n").removesuffix("\n") == start
    assert not list(Path().iterdir())


def test_what_is_there_is_left_as_it_is(command: Command, folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "file").write_text("kept")
    assert command("new", "plugin", "mine") == (
        2,
        "",
        "mine exists and is left as it is; choose another name\n",
    )
    assert command("new", "plugin", "mine", "--out", "file") == (
        2,
        "",
        "file is no folder; give another one to --out\n",
    )
    assert not list((folder / "mine").iterdir())
    assert (folder / "file").read_text() == "kept"


def test_a_norm_is_written_by_default_where_one_asks_for_it(command: Command, folder: Path) -> None:
    next_step = "cd deep/er/My-own && python -m pip install -e . && ablations run grid.yaml"
    assert command("new", "plugin", "My-own", "--out", "deep/er") == (
        0,
        "deep/er/My-own\n",
        f"next: {next_step}\n",
    )
    written = sorted(path for path in (folder / "deep").rglob("*") if path.is_file())
    assert [str(path.relative_to(folder / "deep" / "er" / "My-own")) for path in written] == [
        "README.md",
        "grid.yaml",
        "my_own.py",
        "pyproject.toml",
        "tests/test_conformance.py",
    ]
    for path in written:
        assert not re.search("my.component|MyComponent|MY_KIND|BUILT_INS|OTHER", path.read_text())
    assert "class MyOwnNorm(" in written[2].read_text()


def test_every_kind_has_built_ins_beside_it() -> None:
    assert sorted(BESIDE) == sorted(Kind)


def test_the_files_are_as_the_linter_and_the_formatter_want_them(
    folder: Path,
) -> None:
    built_in = discover()
    for kind in Kind:
        write_plugin("x" * 32, kind, folder / kind, built_in)
    write_plugin("x", Kind.NORM, folder, built_in)
    for arguments in (["check"], ["format", "--check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--config", ROOT / "pyproject.toml", "."],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_its_grid_runs_and_it_passes_its_checks(
    command: Command, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    # The report is written by the installed ones below; it takes longer than the trials.
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    command("new", "plugin", "my-own", "--kind", kind)
    monkeypatch.chdir("my-own")
    status, _, err = command("run", "grid.yaml", "--plugin", "my_own.py", "--executor", "inline")
    assert status == 0, err
    frames = ablations.open_run("runs/my-own").frames()
    assert set(frames.trials["state"]) == {"done"}
    assert set(frames.trials["marks"]) == {""}
    levels = frames.factors.query("factor == @kind")["level"].tolist()
    assert levels[-1] == "my_own"
    assert len(levels) >= 2
    conformance = frames.components.query("name == 'my_own'")["conformance"].tolist()
    assert len(conformance) == 1
    assert re.fullmatch(r"passed \d+ checks", conformance[0])


@pytest.mark.slow
def test_they_install_and_their_commands_work(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    projects = []
    for kind in ("norm", "attention"):
        command("new", "plugin", f"new-{kind}", "--kind", kind)
        projects.append(folder / f"new-{kind}")
    scratch = install(tmp_path / "site", projects)
    tests = []
    for project in projects:  # what is found from here on is what is installed
        tests.append((project / "tests").rename(tmp_path / f"tests of {project.name}"))
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    tested = scratch.python(*arguments, *tests, cwd=tmp_path)
    assert re.search(r"\n\d+ passed(, \d+ skipped)? in", tested.stdout), tested.stdout
    checked = scratch.ablate("check", "new_norm", "new_attention", cwd=tmp_path).stdout
    assert re.fullmatch(r"2 components, \d+ checks ran, all passed", checked.splitlines()[-1])
    grid = projects[0] / "grid.yaml"
    planned = scratch.ablate("plan", grid, "--json", cwd=tmp_path).stdout
    assert json.loads(planned)["trials"] == 18
