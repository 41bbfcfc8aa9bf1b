"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ablations.store import (
    Store,
)
from tests.ablations.stores import PLAN


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
        yield store
