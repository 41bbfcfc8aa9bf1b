"""What a plugin that is not installed imports from the folder it lies in, as its code says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ablations.strangers import OURS
from registry.importing import is_from, module_in


def neighbours(top: str, home: str) -> list[str]:
    """A top-level module of a folder and those of it that it imports, however indirectly.

    Import statements are read, wherever they stand; nothing is imported. Modules imported by other
    means (`importlib`, `exec`) are not seen.
    """
    found: set[str] = set()
    waiting = {top}
    while waiting:
        name = waiting.pop()
        # Ours is never a neighbour, not even for a plugin beside this package's own folders.
        if name not in OURS and is_from(home, name):
            found.add(name)
            for file in files_of(name, home):
                waiting |= _imported(file) - found
    return sorted(found)


def files_of(top: str, home: str) -> Iterator[Path]:
    """The Python files of a top-level module of a folder."""
    path = module_in(home, top)
    if path is not None:
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def _imported(file: Path) -> set[str]:
    """The top-level names that a file imports; none where it is no Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names
