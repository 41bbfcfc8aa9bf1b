"""The command line: versions, wrong arguments, help, and what is not installed."""

from importlib.metadata import version

import pytest

from tests.ablations.command_line import SMALL


def test_the_version_is_printed(inline):
    assert inline("--version") == (0, f"ablations {version('ablations')}\n", "")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "grid.yaml", "--wrokers", "2"], ["rnu"], ["plan", "a", "b"]]
)
def test_wrong_arguments_are_status_2(inline, arguments):
    status, out, err = inline(*arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "command",
    [
        *("run", "plan", "report", "compare", "serve", "components", "plugins", "check", "recipes"),
        *("schema", "new grid", "new plugin"),
    ],
)
def test_help_says_what_a_command_does_with_an_example(inline, command):
    status, out, _ = inline(*command.split(), "--help")
    assert status == 0
    assert f"python -m ablations {command}" in out


def test_built_ins_that_are_not_installed_are_missed_clearly(inline, tmp_path, monkeypatch):
    (tmp_path / "grid.yaml").write_text(SMALL)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    status, _, err = inline("run", "grid.yaml")
    assert status == 3
    assert err == (
        "ablations is not installed here, so its own components are not registered: "
        "python -m pip install ablations\n"
    )
