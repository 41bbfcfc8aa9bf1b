"""Two run directories side by side; reading them needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ablations.store import Store
from registry.errors import RegistryError

if TYPE_CHECKING:
    from reports.comparison.compared_run import ComparedRun
    from reports.comparison.page import Comparison


class CannotCompare(RegistryError, ValueError):
    """Twice the same run."""


def compare_directories(first: Path, second: Path) -> Comparison:
    """What changed between the runs in two directories, finished or not.

    Raises: CannotCompare for the same directory twice; NoRun; another StoreError for one that
    cannot be read.
    """
    from reports.comparison.page import compare_runs

    one = _read(first)
    if second.exists() and first.samefile(second):
        raise CannotCompare(f"{first} and {second} are the same run: give two")
    return compare_runs(one, _read(second))


def _read(directory: Path) -> ComparedRun:
    from reports.comparison.compared_run import ComparedRun

    with Store.open_readonly(directory) as store:
        frames, origins = store.frames(), store.origins()
    return ComparedRun(
        name=str(directory), frames=frames, code=origins.code, identities=origins.identities
    )
