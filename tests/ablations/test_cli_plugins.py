"""Plugins on the command line: --plugin, and the settings that leave installed ones out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import ablations
from ablations import cli, engine
from tests.registry.local import write

Command = Callable[..., tuple[int, str, str]]
GRID = """\
name: x
model: {depth: 1, d_model: 16, n_heads: 2, context: 8, vocab_size: 32}
factors: {norm: [layernorm, rmsnorm]}
measures: [parameters]
"""


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process; returns its status, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = cli.run_command_line([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_a_file_is_listed_as_a_plugin(command: Command, folder: Path) -> None:
    path = write(folder / "deep" / "mine.py", more="__version__ = '2.0'\n")
    status, out, err = command("plugins", "--plugin", "deep/mine.py", "--json")
    documents = {document["name"]: document for document in json.loads(out)}
    assert (status, err) == (0, "")
    assert documents["mine"] == {
        "name": "mine",
        "version": "2.0",
        "state": "loaded",
        "message": "",
        "components": ["norm mine"],
    }
    _, out, _ = command("plugins", "--plugin", "deep/mine.py")
    assert f"mine 2.0: loaded from {path}, 1 entry: norm mine" in out.splitlines()
    status, out, _ = command("components", "--plugin", "deep/mine.py")
    assert status == 0
    assert "  mine:  [mine 2.0]" in out.splitlines()


@pytest.mark.parametrize("name", ["run", "plan", "components", "plugins"])
def test_what_cannot_be_used_ends_a_command(command: Command, folder: Path, name: str) -> None:
    write(folder / "taken.py", "layernorm")
    (folder / "grid.yaml").write_text(GRID)
    grid = ["grid.yaml"] if name in ("run", "plan") else []
    status, out, err = command(name, *grid, "--plugin", "taken.py", "--plugin", "gone.py")
    assert (status, out) == (2, "")
    assert err == (
        "plugin 'taken.py': norm 'layernorm' is built in: choose another name\n"
        "plugin 'gone.py': no such file or folder\n"
    )
    assert not (folder / "runs").exists()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin beside the built-ins that must not be imported."""
    import importlib.metadata as metadata

    def load() -> None:
        raise AssertionError("imported although it is left out")

    dist = SimpleNamespace(name="theirs", version="3.0")
    point = SimpleNamespace(name="parts", dist=dist, load=load)
    real = metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda **group: [*real(**group), point])


def test_what_is_left_out_is_told_and_not_imported(
    command: Command, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "theirs:parts 3.0: failed: import failed: AssertionError" in command("plugins")[1]
    monkeypatch.setenv("ABLATIONS_NO_PLUGINS", "1")
    line = "theirs:parts 3.0: left out by ABLATIONS_NO_PLUGINS=1"
    status, out, err = command("plugins")
    assert (status, out.splitlines()[-1], err) == (0, line, "")
    status, out, err = command("plugins", "--json")
    assert (status, err) == (0, f"{line}\n")
    assert {document["name"].partition(":")[0] for document in json.loads(out)} == {"ablations"}
    assert {document["state"] for document in json.loads(out)} == {"loaded"}


def test_a_wrong_selection_is_one_line(
    command: Command, folder: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "grid.yaml").write_text(GRID)
    monkeypatch.setenv("ABLATIONS_PLUGINS", "thiers")
    for arguments in (["plan", "grid.yaml"], ["run", "grid.yaml"], ["plugins"], ["components"]):
        assert command(*arguments) == (
            2,
            "",
            "ABLATIONS_PLUGINS names 'thiers', which is not installed; did you mean 'theirs'? "
            "known: ablations, theirs\n",
        )


def test_what_a_grid_requires_may_be_left_out(
    command: Command, folder: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "grid.yaml").write_text(f"{GRID}requires: [theirs>=2]\n")
    monkeypatch.setenv("ABLATIONS_PLUGINS", "ablations")
    assert command("plan", "grid.yaml") == (
        2,
        "",
        "grid.yaml:5:12: requires[0]: plugin 'theirs:parts' is left out by "
        "ABLATIONS_PLUGINS=ablations\n",
    )


def test_the_record_says_what_was_left_out_and_what_failed(
    command: Command, folder: Path, installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "grid.yaml").write_text(GRID)
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")

    def recorded() -> str:
        assert command("run", "grid.yaml", "--executor", "inline")[0] == 0
        rows = ablations.open_run("runs/x").frames().environment
        return str(rows.set_index("key")["value"]["plugin theirs:parts"])

    assert recorded() == ("failed: import failed: AssertionError: imported although it is left out")
    monkeypatch.setenv("ABLATIONS_NO_PLUGINS", "1")
    assert recorded() == "left out by ABLATIONS_NO_PLUGINS=1"
