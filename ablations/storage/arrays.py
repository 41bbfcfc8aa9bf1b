"""The arrays of a run, each read from the store when it is asked for."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablations.storage.errors import StoreError, damaged, explained
from ablations.storage.schema import open_readonly

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Key = tuple[str, int, str]
"""Cell, seed and the array's full name."""

_READ = """
SELECT shape, dtype, data FROM arrays JOIN trials USING (cell, seed, measure)
WHERE cell = ? AND seed = ? AND name = ? AND measure = ? AND identity = ?
"""


@dataclass(frozen=True)
class StoredArrays(Mapping[Key, "NDArray[Any]"]):
    """Which arrays there are, known at once; each opens the file for itself and is read-only.

    `places` tells the measure and the identity of the result that an array belongs to. The file
    may be gone by the time that one is asked for, or hold another result in its place.

    Raises: StoreError for such an array, KeyError for one that there never was.
    """

    path: Path
    places: Mapping[Key, tuple[str, str]] = field(repr=False)

    def __getitem__(self, key: Key) -> NDArray[Any]:
        """The array, read anew."""
        place = self.places[key]
        with explained(self.path):
            connection = open_readonly(self.path, whole=False)
            with contextlib.closing(connection):
                row = connection.execute(_READ, (*key, *place)).fetchone()
        if row is None:
            cell, seed, name = key
            raise StoreError(
                f"{self.path}: {name} of cell {cell}, seed {seed}, has been measured anew since "
                "these frames were read: read them again"
            )
        try:
            return _array(*row)
        except (ValueError, TypeError) as error:
            raise damaged(self.path, f"array {key[2]}: {error}") from error

    def __contains__(self, key: object) -> bool:
        """Whether there is such an array, which is not read for it."""
        return key in self.places

    def __iter__(self) -> Iterator[Key]:
        """The keys, in the order of the grid."""
        return iter(self.places)

    def __len__(self) -> int:
        """How many arrays there are."""
        return len(self.places)


def _array(shape: str, dtype: str, data: bytes) -> NDArray[Any]:
    import numpy as np

    kind: np.dtype[Any] = np.dtype(dtype)
    size = tuple(json.loads(shape))
    if kind.hasobject or len(data) != math.prod(size) * kind.itemsize:
        raise ValueError(f"{len(data)} bytes are not {kind.str} {size}")
    return np.ndarray(size, kind, data)
