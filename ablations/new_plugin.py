"""A package to start from: one component, its tests, and a grid that ablates it.

The files are in `templates/plugin`, where they run as they are; here words are replaced.
"""

from __future__ import annotations

import contextlib
import keyword
import re
import sys
from collections.abc import Mapping
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    entry_points,
    packages_distributions,
)
from importlib.resources import files
from pathlib import Path

from packaging.utils import canonicalize_name

from ablations.strangers import OURS
from registry.catalog import Catalog
from registry.checks import WORDS_OF_GRIDS
from registry.hookspecs import ENTRY_POINT_GROUP
from registry.spec import Kind

LONGEST = 32
"""Letters of a name, so that no line of the files becomes too long."""

NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?")
OF_TESTS = ("conftest", "test_conformance", "tests")

BESIDE: Mapping[Kind, tuple[str, str]] = {
    Kind.NORM: ("layernorm, rmsnorm", "placement: [pre, post]"),
    Kind.ACTIVATION: ("gelu, swiglu", "norm: [layernorm, rmsnorm]"),
    Kind.FEED_FORWARD: ("mlp", "activation: [gelu, swiglu]"),
    Kind.ATTENTION: ("mha, {gqa: {n_kv_heads: 2}}", "position: [learned, rope]"),
    Kind.POSITION: ("learned, rope, alibi", "attention: [mha, mqa]"),
    Kind.RESIDUAL: ("add, scaled", "placement: [pre, post]"),
    Kind.PLACEMENT: ("pre, post", "norm: [layernorm, rmsnorm]"),
    Kind.INITIALIZER: ("normal, xavier", "placement: [pre, post]"),
}
"""The built-in levels that a new component of the kind is compared with, and a second factor."""


class CannotBegin(Exception):
    """A name that no plugin can have, or a place that is taken."""


def write_plugin(name: str, kind: Kind, out: Path, built_in: Catalog) -> Path:
    """Write the folder `out/name`, a distribution of that name; returns it.

    Its module and its component have the name in lower_snake.

    Raises: CannotBegin; nothing is written then. OSError.
    """
    snake = module_name(name, built_in)
    folder = out / name
    texts = {path: _filled(text, name, snake, kind) for path, text in _templates(kind).items()}
    if out.exists() and not out.is_dir():
        raise CannotBegin(f"{out} is no folder; give another one to --out")
    out.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        raise CannotBegin(f"{folder} exists and is left as it is; choose another name") from None
    for path, text in texts.items():
        file = folder / _filled(path, name, snake, kind)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def module_name(name: str, built_in: Catalog) -> str:
    """The name in lower_snake: of the module, the component and the entry point.

    Raises: CannotBegin for what is no distribution's name, and for a module or a component that
    there already is.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise CannotBegin(
            f"the name of a plugin has at most {LONGEST} letters a to z, digits, hyphens and "
            f"underscores, a letter first and no hyphen or underscore last, not {name!r:.80}"
        )
    snake = re.sub("[-_]+", "_", name).lower()
    taken = _taken(name, snake, built_in)
    if taken:
        raise CannotBegin(f"{name} would make a module and a component {snake!r}, which {taken}")
    return snake


def _taken(name: str, snake: str, built_in: Catalog) -> str:
    """Why a name is not free; empty if it is."""
    entries = (*built_in.components(), *built_in.measures(), *built_in.executors())
    same = [spec.slot for spec in entries if spec.name == snake]
    if same:
        return f"is a built-in {same[0]}: choose another name"
    if keyword.iskeyword(snake) or snake in WORDS_OF_GRIDS:
        return f"is a word of {'Python' if keyword.iskeyword(snake) else 'grids'}: choose another"
    if snake in sys.stdlib_module_names:
        return "is a module of Python's own: choose another name"
    if snake in (*OURS, *OF_TESTS):
        return "is a module that is needed here: choose another name"
    owner = _owner(name, snake)
    return f"would hide {owner}, which is installed: choose another name" if owner else ""


def _owner(name: str, snake: str) -> str:
    """An installed distribution that has the name, or the module, and is no plugin itself."""
    points = entry_points(group=ENTRY_POINT_GROUP)
    plugins = {canonicalize_name(point.dist.name) for point in points if point.dist}
    owners = packages_distributions().get(snake, [])
    with contextlib.suppress(PackageNotFoundError):
        owners = [*owners, distribution(name).name]
    same = canonicalize_name(name)
    others = (one for one in owners if canonicalize_name(one) not in plugins & {same})
    return next(others, "")


def class_name(snake: str, kind: Kind) -> str:
    """The name in CamelCase, ending with the kind's, so that it is no name that a file imports."""
    name, ending = _camel(snake), _camel(kind)
    return name if name.endswith(ending) else name + ending


def _camel(snake: str) -> str:
    return "".join(part.capitalize() for part in snake.split("_"))


def _templates(kind: Kind) -> dict[str, str]:
    """The text of each file, by its path in the new folder."""
    home = files("ablations") / "templates" / "plugin"
    paths = {
        "README.md": "README.md",
        "grid.yaml": "grid.yaml",
        "my_component.py": f"kinds/{kind}.py",
        "pyproject.toml": "pyproject.toml",
        "tests/test_conformance.py": "tests/test_conformance.py",
    }
    return {
        path: home.joinpath(*file.split("/")).read_text(encoding="utf-8")
        for path, file in paths.items()
    }


def _filled(text: str, name: str, snake: str, kind: Kind) -> str:
    beside, other_factor = BESIDE[kind]
    words = {
        "my-component": name,
        "my_component": snake,
        "MyComponent": class_name(snake, kind),
        "MY_KIND": str(kind),
        "BUILT_INS": beside,
        "OTHER_FACTOR": other_factor,
    }
    pattern = re.compile("|".join(map(re.escape, words)))
    return pattern.sub(lambda found: words[found[0]], text)
