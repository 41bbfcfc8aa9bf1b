"""Importing what is not installed: a plugin's folder is searched after all else, never before."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from registry.errors import InvalidSpec

HOMES: set[str] = set()
"""The folders that this process made importable; whoever loads a choice of theirs does so too."""


def make_importable(home: str) -> None:
    """Let Python find the modules of a folder, those that it finds nowhere else."""
    HOMES.add(home)
    if home not in sys.path:
        sys.path.append(home)
    importlib.invalidate_caches()  # a file may be newer than what Python remembers of its folder


def module_in(home: str, top: str) -> Path | None:
    """The file or package folder of a top-level module in a folder; None where there is none."""
    folder = Path(home)
    if (folder / top / "__init__.py").is_file():
        return folder / top
    if (folder / f"{top}.py").is_file():
        return folder / f"{top}.py"
    return folder / top if (folder / top).is_dir() else None


def origins(top: str) -> Iterator[Path]:
    """The file, or the folders, that `import top` gives or gave; nothing is imported."""
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # `__main__` and modules made by hand have none
        return
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from map(Path, spec.submodule_search_locations)
    elif spec.has_location and spec.origin:
        yield Path(spec.origin)


def is_from(home: str, top: str) -> bool:
    """Whether `import top` gives the module of that folder."""
    expected = module_in(home, top)
    return expected is not None and any(
        found.exists() and os.path.samefile(found, expected) for found in origins(top)
    )


def check_from(home: str, top: str) -> None:
    """Refuse a module of a folder in whose place Python imports another one of its name.

    Raises: InvalidSpec.
    """
    if module_in(home, top) is not None and not is_from(home, top):
        other = next(origins(top), None)
        what = str(other) if other else "a module of Python itself"
        raise InvalidSpec(
            f"Python imports {what} as {top!r}, not what lies in {home}: give it another name"
        )
