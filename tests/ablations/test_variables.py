"""A variable of the environment that nothing reads is an error, not a silence."""

import re
from pathlib import Path

from ablations import cli
from ablations.variables import KNOWN, unknown_variables

ROOT = Path(__file__).parents[2]


def test_known_variables_and_those_of_others_are_left_alone():
    assert (
        unknown_variables({**dict.fromkeys(KNOWN, "1"), "HOME": "/", "MLFLOW_ABLATIONS": ""}) == []
    )


def test_a_misspelt_variable_is_told_with_the_nearest_name():
    known = ", ".join(KNOWN)
    assert unknown_variables(
        {"ABLATIONS_WORKER": "2", "ABLATIONS_XYZ": "", "ablations_out": "x"}
    ) == [
        f"environment variable ABLATIONS_WORKER has no effect; did you mean ABLATIONS_WORKERS? "
        f"known: {known}",
        f"environment variable ABLATIONS_XYZ has no effect; known: {known}",
        f"environment variable ablations_out has no effect; did you mean ABLATIONS_OUT? "
        f"known: {known}",
    ]


def test_no_command_runs_beside_one(monkeypatch, capsys):
    monkeypatch.setenv("ABLATIONS_PLUGIN", "x")
    assert cli.run_command_line(["schema"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("environment variable ABLATIONS_PLUGIN has no effect; did you mean ABLAT")
    assert err.count("\n") == 1


def test_every_variable_that_the_code_names_is_known():
    named = set()
    for package in ("registry", "components", "ablations", "reports"):
        for file in (ROOT / package).rglob("*.py"):
            named |= set(re.findall(r'"(ABLATIONS_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    assert named - {"ABLATIONS_PACKAGE"} == set(KNOWN)  # that one marks our own packages
