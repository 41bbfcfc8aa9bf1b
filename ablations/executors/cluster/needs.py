"""What a node must have so that a trial is there what it is here."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ablations.neighbours import files_of
from ablations.strangers import OURS
from registry.importing import HOMES, module_in, origins

BELOW = ("torch", "numpy")
"""Libraries whose version is all that is asked of them."""

SCRIPT = "__main__"
"""The module of what a script defines, which no other process has."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """A top-level module that is to be the same everywhere.

    `distribution` and `version` are those it comes from, empty where nothing is known of it;
    `digest` is one of its Python files, empty where only the version counts; `home` is the folder
    of a plugin that is not installed.
    """

    module: str
    distribution: str = ""
    version: str = ""
    digest: str = ""
    home: str = ""

    @property
    def told(self) -> str:
        """`my-plugin 1.2`, or the module where there is no distribution."""
        return f"{self.distribution} {self.version}" if self.distribution else self.module


def needs_of(strangers: Iterable[str] | None = None) -> list[Need]:
    """What trials need that run the code of `strangers`; without them, what all trials need."""
    if strangers is not None:
        return [_need(module) for module in sorted(strangers)]
    below = [
        Need(module=name, distribution=name, version=_version(name))
        for name in BELOW
        if _version(name)
    ]
    python = Need(module="python", version=platform.python_version())
    return [python, *below, *(_need(module) for module in sorted(OURS))]


def lacking(needs: Iterable[Need]) -> list[str]:
    """What of it this machine has not, each in words that name what is there instead."""
    found = (_lack(need) for need in needs)
    return list(dict.fromkeys(filter(None, found)))


def _lack(need: Need) -> str:
    if need.module == SCRIPT:
        return "what is defined in the script that is run, which stays here: put it into a module"
    if need.module == "python":
        here = platform.python_version()
        return "" if here == need.version else f"Python {need.version} is needed, {here} is there"
    version = _version(need.distribution) if need.distribution else ""
    if version != need.version:
        return f"{need.told} is needed, {version or 'none'} is there"
    if not need.digest:
        return ""
    there = bool(need.home) and module_in(need.home, need.module) is not None
    folder = _folder(need.module) or (need.home if there else "")
    if not folder:
        return f"{need.told} is needed, and no module {need.module!r} is there"
    if _digest(need.module, folder) != need.digest:
        return f"the files of {need.told} ({need.module}) differ from those it is to be measured by"
    return ""


@functools.cache
def _need(module: str) -> Need:
    folder = _folder(module)
    distribution = "ablations" if module in OURS else _distribution(module)
    return Need(
        module=module,
        distribution=distribution,
        version=_version(distribution) if distribution else "",
        digest=_digest(module, folder) if folder else "",
        home=folder if folder in HOMES else "",
    )


def _folder(module: str) -> str:
    """The folder that a top-level module lies in; empty without one."""
    found = next(origins(module), None)
    if found is None:
        return ""
    return str(found.parent.parent if found.name == "__init__.py" else found.parent)


def _digest(module: str, folder: str) -> str:
    digest = hashlib.sha256()
    for file in sorted(files_of(module, folder)):
        name = file.relative_to(folder).as_posix()
        digest.update(name.encode() + b"\0" + Path(file).read_bytes() + b"\0")
    return digest.hexdigest()


def _distribution(module: str) -> str:
    names = importlib.metadata.packages_distributions().get(module, [])
    return min(names, default="")


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
