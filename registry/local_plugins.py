"""Plugins that are not packaged: a module, a .py file or a package's folder, asked for by name."""

from __future__ import annotations

import functools
import keyword
import os
import site
import sys
import sysconfig
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from registry.errors import InvalidSpec
from registry.importing import check_from, make_importable, module_in, origins

FORMS = "a module's name, the path of a .py file or that of a package's folder"


@dataclass(frozen=True, kw_only=True)
class LocalPlugin:
    """A plugin's module and where it lies.

    `home` is the folder that must be searched for its top-level module to be found, empty for an
    installed one; `path` is its file or folder, empty where that does not lie in `home`.
    """

    module: str
    home: str = ""
    path: str = ""


def locate(asked: str, base: Path) -> LocalPlugin:
    """What a person means by a name or a path; paths are relative to `base`, nothing is imported.

    What ends in `.py` or holds a `/` is a path, all else the name of a module that the current
    directory holds or that is installed.

    Raises: InvalidSpec.
    """
    if asked.endswith(".py") or "/" in asked or (base / asked).is_file():
        return _at(Path(os.path.abspath(base / asked)))
    parts = asked.split(".")
    if not all(map(_is_name, parts)):
        raise InvalidSpec(f"is neither {FORMS}; a path ends in '.py' or has a '/'")
    return _named(asked)


def make_ready(plugin: LocalPlugin) -> None:
    """Let Python find a plugin's module. Raises: InvalidSpec where it would find another one."""
    if plugin.home:
        make_importable(plugin.home)
        check_from(plugin.home, plugin.module.partition(".")[0])


def forget(plugin: LocalPlugin, kept: Collection[str]) -> None:
    """Let the next import read a plugin's files anew, except the modules that were there before."""
    top = plugin.module.partition(".")[0]
    for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
        if name not in kept:
            del sys.modules[name]


def _at(path: Path) -> LocalPlugin:
    if path.name == "__init__.py":
        path = path.parent
    if not path.exists():
        raise InvalidSpec("no such file or folder")
    if path.is_dir() and not (path / "__init__.py").is_file():
        raise InvalidSpec("is no package: the folder has no __init__.py")
    if not path.is_dir() and path.suffix != ".py":
        raise InvalidSpec(f"is neither {FORMS}")
    parts = [path.stem if path.suffix == ".py" else path.name]
    home = path.parent
    while (home / "__init__.py").is_file() and home != home.parent:
        parts.insert(0, home.name)
        home = home.parent
    for part in parts:
        if not _is_name(part):
            raise InvalidSpec(
                f"cannot be imported as {part!r}: rename it to letters, digits and underscores, "
                "a letter first"
            )
    return LocalPlugin(module=".".join(parts), home=str(home), path=str(path))


def _named(module: str) -> LocalPlugin:
    home = _home(module.partition(".")[0])
    if not home or os.path.realpath(home) in _installed_folders():
        return LocalPlugin(module=module)
    stem = Path(home, *module.split("."))
    paths = (stem, stem.with_name(f"{stem.name}.py"))
    path = next((p for p in paths if (p / "__init__.py").is_file() or p.is_file()), None)
    return LocalPlugin(module=module, home=home, path=str(path or ""))


def _home(top: str) -> str:
    """The folder of a top-level module; empty for what Python has built in."""
    here = os.getcwd()
    near = module_in(here, top)
    if near is not None and (near.is_file() or (near / "__init__.py").is_file()):
        return here
    found = next(origins(top), None)
    if found is not None:
        return str(found.parent)
    if near is None and top not in sys.builtin_module_names:
        raise InvalidSpec(
            "no module of that name is installed or lies in the current directory; a path ends "
            "in '.py' or has a '/'"
        )
    return here if near is not None else ""


def _is_name(part: str) -> bool:
    return part.isidentifier() and not keyword.iskeyword(part)


@functools.cache
def _installed_folders() -> frozenset[str]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [*map(sysconfig.get_path, kinds), *site.getsitepackages(), site.getusersitepackages()]
    return frozenset(map(os.path.realpath, folders))
