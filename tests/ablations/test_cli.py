"""The command line: versions, wrong arguments, help, and what is not installed."""

from importlib.metadata import version

import pytest

from tests.ablations.command_line import SMALL


def test_the_version_is_printed(inline):
    assert inline("--version") == (0, f"ablations {version('ablations')}\n", "")


KINDS = "activation, attention, feed_forward, initializer, norm, placement, position, residual"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("run", "Missing argument 'grid' (see ablations run --help)"),
        (
            "run grid.yaml --wrokers 2",
            "No such option: --wrokers (Possible options: --fresh, --workers) "
            "(see ablations run --help)",
        ),
        ("rnu", "No such command 'rnu'. Did you mean 'run'? (see ablations --help)"),
        ("plan a b", "Got unexpected extra argument(s) (b) (see ablations plan --help)"),
        ("new plgin", "No such command 'plgin'. Did you mean 'plugin'? (see ablations new --help)"),
        (
            "new plugin mine --kind nrom",
            f"--kind: there is no 'nrom'; did you mean 'norm'? known: {KINDS}",
        ),
        ("new plugin mine --kind x", f"--kind: there is no 'x'; known: {KINDS}"),
        *(
            (
                f"serve x --port {port}",
                f"Invalid value for --port: expected a whole number from 0 to 65535, not '{port}' "
                "(see ablations serve --help)",
            )
            for port in ("abc", "70000", "1.5")
        ),
        (
            "run grid.yaml --workers two",
            "Invalid value for --workers: expected auto or a whole number from 1 on, not 'two' "
            "(see ablations run --help)",
        ),
        (
            "run grid.yaml --executor lcal",
            "unknown executor 'lcal'; did you mean 'local'? known: inline, local, ray",
        ),
        (
            "report x --format htlm",
            "--format: there is no 'htlm'; did you mean 'html'? "
            "known: csv, html, latex, markdown, parquet",
        ),
    ],
)
def test_wrong_arguments_are_a_line_and_status_2(inline, tmp_path, arguments, told):
    (tmp_path / "grid.yaml").write_text(SMALL)
    assert inline(*arguments.split()) == (2, "", f"{told}\n")


def test_a_command_without_any_of_its_own_shows_its_help(inline):
    for arguments in ([], ["new"]):
        status, out, err = inline(*arguments)
        assert (status, out) == (2, "")
        assert err.startswith(" ".join(["Usage: ablations", *arguments, "[OPTIONS] COMMAND"]))


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
