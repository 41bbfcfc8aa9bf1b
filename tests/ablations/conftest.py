"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ablations import cli
from ablations.store import Store
from tests.ablations.stores import PLAN


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
        yield store


@pytest.fixture
def inline(capsys, tmp_path, monkeypatch):
    """Run a command in this process; returns its status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.run_command_line([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
