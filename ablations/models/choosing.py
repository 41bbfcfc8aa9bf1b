"""Components and measures as written to a catalog's choices: found by name, options filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ablations.grids.document import DataPath, Fault
from ablations.grids.faults import Faulty
from ablations.models.canonical import canonical_json, plain
from ablations.models.model import COMPONENT_KINDS
from ablations.models.written import read_entries
from registry.catalog import Catalog
from registry.errors import InvalidOptions, RegistryError, describe
from registry.spec import Choice, Kind, MeasureSpec, Spec


class Chooser:
    """Chooses from one catalog; remembers each distinct component and measure."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._components: dict[tuple[Kind, str], tuple[Choice, ...]] = {}
        self._measures: dict[str, Choice] = {}

    def components(self, key: str, value: Any) -> tuple[Choice, ...]:
        """The choices that a component key names: one, or one for each entry of `layers`.

        An `embedding_norm` of null is none. Raises: Faulty.
        """
        kind = COMPONENT_KINDS[key]
        if key == "embedding_norm" and value is None:
            return ()
        memo = (kind, canonical_json(value))
        if memo not in self._components:
            found, faults = read_entries(key, value)
            chosen: list[Choice] = []
            for path, name, options in found:
                try:
                    chosen.append(self._component(kind, name, options, path))
                except Faulty as error:
                    faults += error.faults
            if faults:
                raise Faulty(faults)
            self._components[memo] = tuple(chosen)
        return self._components[memo]

    def measure(self, spec: MeasureSpec, options: Mapping[str, Any]) -> Choice:
        """A measure with these options. Raises: Faulty, paths relative to the options."""
        memo = canonical_json([spec.provenance.distribution, spec.name, options])
        if memo not in self._measures:
            self._measures[memo] = self.choose(spec, options)
        return self._measures[memo]

    def choose(self, spec: Spec, options: Mapping[str, Any], path: DataPath = ()) -> Choice:
        """The catalog's choice, its faults under `path`. Raises: Faulty."""
        try:
            choice = self.catalog.choose(spec, options)
            plain(choice.options)
        except InvalidOptions as error:
            known = {option.name for option in self.catalog.options(spec)}
            raise Faulty(
                Fault((*path, option), message, option not in known)
                if option is not None
                else Fault(path, message)
                for option, message in error.findings
            ) from None
        except RegistryError as error:
            raise Faulty([Fault(path, str(error))]) from None
        except Exception as error:  # reading a stranger's class may fail in any way
            words = f"{spec.name!r} cannot be read: {describe(error)}"
            raise Faulty([Fault(path, words)]) from None
        return choice

    def _component(self, kind: Kind, name: str, options: Any, path: DataPath) -> Choice:
        try:
            spec = self.catalog.component(kind, name)
        except RegistryError as error:
            written = (*path, name) if options is not None else path
            raise Faulty([Fault(written, str(error), options is not None)]) from None
        return self.choose(spec, options or {}, (*path, name))
