"""What a function returned, remembered by what it read: of a layer's sizes, choices, and its model.

A constructor or an `unsupported` is handed far more than it looks at. Whatever reads the same
values of the same things returns the same, so a cell that differs elsewhere need not ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import fields
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

from ablations.architecture import Architecture, BlockChoices
from ablations.models.model import PER_BLOCK
from registry.contracts import Dims
from registry.spec import Choice

Result = TypeVar("Result")
Reads = tuple[str, ...]

SIZES = tuple(field.name for field in fields(Dims))
OF_MODEL = "model."
"""What a value of the whole model is read under, before its name."""


class Situation(dict[str, Any]):
    """All that a part of one layer may read, by name: its sizes, its block's choices, its model.

    A choice stands as its `id`: whoever remembers by a situation keeps every choice alive.
    """

    architecture: Architecture

    def __missing__(self, name: str) -> Hashable:
        value = getattr(self.architecture, name.removeprefix(OF_MODEL))
        if name == f"{OF_MODEL}layers":
            value = tuple((*map(id, choices_of(block)), block.d_ff) for block in value)
        elif isinstance(value, Choice):
            value = id(value)
        self[name] = value
        found: Hashable = value
        return found

    def resized(self, sizes: Collection[tuple[str, Any]]) -> Situation:
        """That of a part which is built for other sizes."""
        if not sizes:
            return self
        other = Situation(self)
        other.architecture = self.architecture
        other.update(sizes)
        return other

    @property
    def dims(self) -> Dims:
        """The sizes."""
        return Dims(**{name: self[name] for name in SIZES})


choices_of: Callable[[BlockChoices], tuple[Choice, ...]] = attrgetter(*PER_BLOCK)
"""The choices of a block, in the order of `PER_BLOCK`."""


def situation(architecture: Architecture, layer: int) -> Situation:
    """That of the parts of one layer."""
    made = Situation(vars(architecture.dims(layer)))
    made.update(zip(PER_BLOCK, map(id, choices_of(architecture.layers[layer])), strict=True))
    made.architecture = architecture
    return made


class Recall(Generic[Result]):
    """What one function returned."""

    def __init__(self, most: int | None = None) -> None:
        self._tables: dict[Reads, tuple[Callable[[Any], Any], dict[Any, Result]]] = {}
        self._most = most
        """Results that are kept at most for each set of what is read."""

    def find(self, situation: Situation) -> Result | None:
        """What it returned where it read the same; None where it has not been asked."""
        for getter, table in self._tables.values():
            found = table.get(getter(situation))
            if found is not None:
                return found
        return None

    def keep(self, read: Collection[str], situation: Situation, result: Result) -> None:
        """Remember what it returned, having read just that."""
        names = tuple(sorted(read))
        if names not in self._tables:
            self._tables[names] = (getter_of(names), {})
        getter, table = self._tables[names]
        if self._most is not None and len(table) >= self._most:
            table.clear()
        table[getter(situation)] = result


def getter_of(names: Reads) -> Callable[[Any], Any]:
    """What gives a situation's values of these names, to look a result up by."""
    return itemgetter(*names) if names else lambda _: ()


class _Watched:
    """Notes in a set which fields are read of it; what needs the whole has read all of them."""

    def __getattribute__(self, name: str) -> Any:
        of = object.__getattribute__
        own: dict[str, Any] = of(self, "__dict__")
        plain, prefix, noted, unnoted = own["_watching"]
        if name in own:
            if name not in unnoted:
                noted.add(prefix + name)
        elif name == "__dict__":
            values = {key: value for key, value in own.items() if key != "_watching"}
            noted.update(prefix + key for key in values if key not in unnoted)
            return values
        elif name == "__class__":  # so that `dataclasses.replace` makes a plain one
            return plain
        return of(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy is a plain one."""
        return _made, (self.__class__, vars(self))


def _made(plain: Callable[..., Any], values: dict[str, Any]) -> Any:
    return plain(**values)


class WatchedArchitecture(_Watched, Architecture):
    """A model handed to a component or a measure."""


class WatchedDims(_Watched, Dims):
    """The sizes handed to a component."""

    def resized(self, **sizes: Any) -> WatchedDims:
        """Others, of which what is changed is known without reading these."""
        own = object.__getattribute__(self, "__dict__")
        _, _, noted, unnoted = own["_watching"]
        plain = Dims(**{name: own[name] for name in SIZES}).resized(**sizes)
        return watched_dims(plain, noted, unnoted | sizes.keys())


def watched_dims(dims: Dims, noted: set[str], unnoted: frozenset[str] = frozenset()) -> WatchedDims:
    """A view of sizes that notes what is read, but for what is `unnoted`."""
    view = WatchedDims.__new__(WatchedDims)
    own = object.__getattribute__(view, "__dict__")
    own.update(vars(dims), _watching=(Dims, "", noted, unnoted))
    return view


def watched_architecture(architecture: Architecture, noted: set[str]) -> WatchedArchitecture:
    """A view of a model that notes what is read."""
    view = WatchedArchitecture.__new__(WatchedArchitecture)
    own = object.__getattribute__(view, "__dict__")
    own.update(vars(architecture), _watching=(Architecture, OF_MODEL, noted, frozenset()))
    return view


def changes_of(dims: Dims) -> tuple[tuple[str, Any], ...]:
    """What sizes say beyond the situation in which they were made: of plain ones, everything."""
    if type(dims) is not WatchedDims:
        return tuple(vars(dims).items())
    own = object.__getattribute__(dims, "__dict__")
    return tuple((name, own[name]) for name in sorted(own["_watching"][3]))
