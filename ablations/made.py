"""Sequences whose items are made as they are asked for: a million of them take no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")
Other = TypeVar("Other")


class Made(Sequence[Item]):
    """The items of these numbers, each made anew whenever it is asked for."""

    def __init__(self, make: Callable[[int], Item], numbers: Sequence[int]) -> None:
        self._make = make
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> Made[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | Made[Item]:
        if isinstance(place, slice):
            return Made(self._make, self._numbers[place])
        return self._make(self._numbers[place])

    def of(self, numbers: Sequence[int]) -> Made[Item]:
        """Those of other numbers."""
        return Made(self._make, numbers)

    def then(self, make: Callable[[Item], Other]) -> Made[Other]:
        """What is made of each."""
        return Made(lambda number: make(self._make(number)), self._numbers)

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, self._numbers)
