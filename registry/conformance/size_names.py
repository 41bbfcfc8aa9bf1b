"""Sizes told by name: 28 features are T·C, a shape is (B, T, H·C).

B batch, T tokens, D d_model, H heads, K key/value heads, C head_dim, F hidden width.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

PRODUCTS = (
    "H·C",
    "K·C",
    "3·H·C",
    "2·K·C",
    "2·F",
    "2·D",
    "3·D",
    "4·D",
    "H/K",
    "2·H",
    "2·C",
    "C/2",
)
"""What components make of their sizes; other products of them are found too, but named after."""

NUMBER = re.compile(r"(?<=[( ])\d+(?=[,)])")
"""A dimension of a shape, told by name, that has none."""


class SizeNames:
    """The names of sizes, where no two that matter are equal.

    `atoms` are told by the order in which they are preferred when two are equal.
    """

    def __init__(self, atoms: Mapping[str, int]) -> None:
        self.atoms = dict(atoms)
        self._names: dict[int, str] = {1: "1"}
        for name, size in self.atoms.items():
            self._names.setdefault(size, name)
        for product in PRODUCTS:
            value = self._value(product)
            if value is not None:
                self._names.setdefault(value, product)
        if "K" in self.atoms:
            fused = (self.atoms["H"] + 2 * self.atoms["K"]) * self.atoms["C"]
            self._names.setdefault(fused, "(H+2·K)·C")
        for count in (2, 3):
            for names in combinations(self.atoms, count):
                size = math.prod(self.atoms[name] for name in names)
                self._names.setdefault(size, "·".join(names))

    def name(self, size: int) -> str:
        """`D`, `H·C`, or the number itself."""
        return self._names.get(size, str(size))

    def shape(self, sizes: Iterable[int]) -> str:
        """`(B, T, D)`."""
        return tell(map(self.name, sizes))

    def wanted(self, names: Sequence[str], got: str) -> str:
        """What was expected, by name; with its sizes where a size of what came has no name.

        >>> SizeNames({"B": 5, "T": 7, "D": 60}).wanted(("B", "T", "D"), "(B, T, 59)")
        '(B, T, D) = (5, 7, 60)'
        """
        sizes = [self._value(name) for name in names]
        if all(one == "1" for one in NUMBER.findall(got)) or None in sizes:
            return tell(names)
        return f"{tell(names)} = {tell(map(str, sizes))}"

    def factors(self, sizes: Iterable[int]) -> tuple[str, ...]:
        """The atoms of a shape in the order in which its memory is laid out."""
        named = (self.name(size) for size in sizes)
        return tuple(atom for name in named if name != "1" for atom in name.split("·"))

    def size(self, name: str) -> int:
        """The size that an atom, or a product of atoms, names."""
        return math.prod(self.atoms[atom] for atom in name.split("·"))

    def _value(self, product: str) -> int | None:
        value = 1.0
        for part in product.split("·"):
            numerator, _, denominator = part.partition("/")
            for name, power in ((numerator, 1), (denominator or "1", -1)):
                if not name.isdigit() and name not in self.atoms:
                    return None
                value *= float(name if name.isdigit() else self.atoms[name]) ** power
        return int(value) if value == int(value) else None


def tell(names: Iterable[str]) -> str:
    """Names of dimensions as a shape."""
    told: Sequence[str] = tuple(names)
    return f"({told[0]},)" if len(told) == 1 else f"({', '.join(told)})"
