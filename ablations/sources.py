"""The Python files behind components and measures, so that an edited one is measured anew."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from registry.discovery import BUILTIN
from registry.errors import RegistryError

_FIRST_SEEN: dict[str, str] = {}
"""Digests by what this process has imported, as they were when it first looked."""


class StaleSource(RegistryError):
    """Files have changed under a process that has already imported them."""


class Sources:
    """Digests of files, each read once; made anew for each run, since files change between runs.

    `distributions` tells which one registered a target; of a target that it does not know, the
    top-level package alone is read.
    """

    def __init__(self, distributions: Mapping[str, str]) -> None:
        self._distributions = distributions
        self._digests: dict[tuple[str, str], str] = {}

    def of(self, target: str) -> str:
        """A digest of the files that a target's figures may depend on.

        Of this package that is the target's own file. Of all others it is the top-level package,
        whose parts import each other, and every package of the distribution.

        Raises: StaleSource if they changed after this process imported them: it would go on with
        the old ones, whatever their files say.
        """
        module = target.partition(":")[0]
        top = module.partition(".")[0]
        what = module if top == "ablations" else top
        distribution = self._distributions.get(target, "")
        key = (what, "" if distribution == BUILTIN else distribution)
        if key not in self._digests:
            self._digests[key] = _digest(_files(*key))
            _check_unchanged(what, self._digests[key])
        return self._digests[key]


def _check_unchanged(module: str, digest: str) -> None:
    if module in sys.modules and _FIRST_SEEN.setdefault(module, digest) != digest:
        raise StaleSource(
            f"the files of {module!r} were edited after this process imported them; start Python "
            "anew, or the old code would be measured under the new one's name"
        )


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in sorted(set(files)):
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(module: str, distribution: str) -> Iterator[tuple[str, Path]]:
    """Each file with a name that does not depend on where it is installed."""
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.submodule_search_locations is not None and "." not in module:
        for folder in spec.submodule_search_locations:
            yield from _below(Path(folder))
    elif spec is not None and spec.origin and spec.origin.endswith(".py"):
        yield Path(spec.origin).name, Path(spec.origin)
    if distribution:
        yield from _distribution_files(distribution)


def _distribution_files(name: str) -> Iterator[tuple[str, Path]]:
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if file.suffix == ".py" and path.is_file():
            yield str(file), path
    # An editable install lists no packages: they lie in the project's folder.
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        project = Path(unquote(urlsplit(origin["url"]).path))
        for folder in (project, project / "src"):
            for init in folder.glob("*/__init__.py"):
                if init.parent.name != "tests":
                    yield from _below(init.parent)


def _below(package: Path) -> Iterator[tuple[str, Path]]:
    for file in package.rglob("*.py"):
        yield str(file.relative_to(package.parent)), file
