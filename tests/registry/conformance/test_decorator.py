from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from registry import UnknownName
from registry.conformance import parametrize
from registry.conformance.battery import checks_of
from registry.spec import Kind
from tests.registry.conformance.strangers import DynamicTanh

ROOT = Path(__file__).parents[3]
PLUGIN = """
import torch
from torch import nn

from registry import conformance


class Norm(nn.Module):
    def __init__(self, dims):
        super().__init__()

    def forward(self, x):
        return x.mul_(2)


class Refusing(Norm):
    def forward(self, x):
        raise ValueError("not today")


EXPECTED = {"input_unchanged": "known", "finite": "no"}


@conformance.parametrize("norm", Norm, expected_failures=EXPECTED)
def test_norm(check):
    check()


@conformance.parametrize("norm", Refusing)
def test_refusing(check):
    check()
"""


@parametrize("norm", "components.norms:LayerNorm")
def test_a_check_is_called_as_a_test(check: Any) -> None:
    check()


def test_there_is_one_test_a_check_and_one_that_counts() -> None:
    mark = parametrize("norm", DynamicTanh).mark  # type: ignore[attr-defined]
    names = [check.name for check in checks_of(Kind.NORM)]
    assert mark.args[0] == "check"
    assert [case.id for case in mark.args[1]] == [*names, "enough_checks_ran"]


def test_an_expected_failure_of_no_check_is_refused() -> None:
    with pytest.raises(UnknownName):
        parametrize("norm", DynamicTanh, expected_failures={"causalty": "known"})


def test_outcomes_are_those_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_plugin.py").write_text(PLUGIN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
    )
    lines = done.stdout.splitlines()

    def told(start: str) -> str:
        (line,) = (line for line in lines if line.startswith(start))
        return line

    assert told("PASSED test_plugin.py::test_norm[dtype]")
    assert told("PASSED test_plugin.py::test_norm[enough_checks_ran]")
    assert told("XFAIL test_plugin.py::test_norm[input_unchanged] - known")
    assert "[XPASS(strict)] no" in told("FAILED test_plugin.py::test_norm[finite]")
    assert "raised ValueError: not today" in told("FAILED test_plugin.py::test_refusing[shape]")
    assert "4 checks ran, fewer than the 17 of its kind" in told(
        "FAILED test_plugin.py::test_refusing[enough_checks_ran]"
    )
    assert any("shape must hold first" in line for line in lines if line.startswith("SKIPPED"))
    assert done.returncode == 1
