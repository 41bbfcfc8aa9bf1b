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

from ablations.neighbours import files_of, neighbours
from registry.catalog import Catalog
from registry.clashes import BUILTIN
from registry.errors import RegistryError
from registry.importing import make_importable
from registry.records import PluginRecord
from registry.spec import UNREGISTERED, Provenance

_FIRST_SEEN: dict[tuple[str, str, str], str] = {}
"""Digests of what this process has imported, as they were when it first looked."""


class StaleSource(RegistryError):
    """Files have changed under a process that has already imported them."""


class Sources:
    """Digests of files, each read once; made anew for each run, since files change between runs.

    `provenances` tells who registered a target; of a target that it does not know, the top-level
    package alone is read.
    """

    def __init__(self, provenances: Mapping[str, Provenance]) -> None:
        self._provenances = provenances
        self._digests: dict[tuple[str, str, str], str] = {}

    def of(self, target: str) -> str:
        """A digest of the files that a target's figures may depend on.

        Of this package that is the target's own file. Of all others it is the top-level package,
        whose parts import each other, and every package of the distribution; of a plugin that is
        not installed, what it imports from its own folder.

        Raises: StaleSource if they changed after this process imported them: it would go on with
        the old ones, whatever their files say.
        """
        module = target.partition(":")[0]
        top = module.partition(".")[0]
        what = module if top == "ablations" else top
        origin = self._provenances.get(target, UNREGISTERED)
        key = (what, "" if origin.distribution == BUILTIN else origin.distribution, origin.home)
        if key not in self._digests:
            files = _local_files(*key) if origin.home else _files(*key[:2])
            self._digests[key] = _digest(files)
            _check_unchanged(key, self._digests[key])
        return self._digests[key]


def version_of(plugin: PluginRecord) -> str:
    """What a record says of a plugin's version; of one that is not packaged also its source."""
    version = plugin.version or "no version"
    home = next((spec.provenance.home for spec in plugin.specs), "")
    if not home:
        return version
    top = plugin.name.partition(".")[0]
    return f"{version}, not packaged, source {_digest(_local_files(top, plugin.name, home))[:12]}"


def look_first(catalog: Catalog) -> None:
    """Remember the files of plugins that are not installed as they are when they are loaded.

    They are the ones that a person edits while a notebook has them imported.

    Raises: StaleSource if they changed since this process first loaded them.
    """
    local = [spec for spec in (*catalog.components(), *catalog.measures()) if spec.provenance.home]
    sources = Sources({spec.reference: spec.provenance for spec in local})
    for spec in local:
        sources.of(spec.reference)


def _check_unchanged(key: tuple[str, str, str], digest: str) -> None:
    module = key[0]
    if module in sys.modules and _FIRST_SEEN.setdefault(key, digest) != digest:
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


def _local_files(module: str, plugin: str, home: str) -> Iterator[tuple[str, Path]]:
    """The files of a plugin in `home`, its target's module among them, and their neighbours."""
    make_importable(home)
    names = {name for top in (module, plugin.partition(".")[0]) for name in neighbours(top, home)}
    for name in names:
        for file in files_of(name, home):
            yield str(file.relative_to(home)), file
    if module not in names:
        yield from _files(module, "")


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
