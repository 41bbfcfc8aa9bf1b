"""Fixtures of more than one package's tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.browser import chromium as started_chromium
from tests.installed import Scratch, install

if TYPE_CHECKING:
    from playwright.sync_api import Browser

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side
settings.register_profile("here", deadline=None)  # no test asserts a time
settings.load_profile("here")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of their own for the tests, which examine each component once."""
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABLATIONS_CACHE", str(directory))
        yield directory


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """An environment with every distribution of tests/plugins; tests that use it are slow."""
    return install(tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="module")  # no longer: its loop would be in the way of others' asyncio
def chromium() -> Iterator[Browser]:
    """A browser for the pages of a module."""
    with started_chromium() as browser:
        yield browser


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, the current one; what is imported from below it is forgotten."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield here
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
