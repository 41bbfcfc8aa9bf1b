"""Two run directories side by side; reading them needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ablations.storage.errors import StoreError
from ablations.storage.schema import FILE, NOTHING
from ablations.store import Store
from registry.errors import RegistryError

if TYPE_CHECKING:
    from reports.comparison.compared_run import ComparedRun
    from reports.comparison.page import Comparison


class CannotCompare(RegistryError, ValueError):
    """Two directories that are no two runs."""


def compare_directories(first: Path, second: Path) -> Comparison:
    """What changed between the runs in two directories, finished or not.

    Raises: CannotCompare for a directory without a run, or the same one twice; StoreError for one
    that cannot be read.
    """
    from reports.comparison.page import compare_runs

    for directory in (first, second):
        if not (directory / FILE).is_file():
            raise CannotCompare(f"{directory} holds no run: there is no {FILE}")
    if first.samefile(second):
        raise CannotCompare(f"{first} and {second} are the same run: give two")
    return compare_runs(_read(first), _read(second))


def _read(directory: Path) -> ComparedRun:
    from reports.comparison.compared_run import ComparedRun

    try:
        with Store.open_readonly(directory) as store:
            frames, origins = store.frames(), store.origins()
    except StoreError as error:
        if str(error) == NOTHING:
            raise CannotCompare(f"{directory}: {NOTHING}") from error
        raise
    return ComparedRun(
        name=str(directory), frames=frames, code=origins.code, identities=origins.identities
    )
