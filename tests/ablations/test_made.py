"""Sequences of what is made as it is asked for."""

from __future__ import annotations

from ablations.made import Made


def test_items_are_made_when_they_are_asked_for() -> None:
    made: list[int] = []

    def make(number: int) -> str:
        made.append(number)
        return str(number)

    sequence = Made(make, range(1_000_000))
    assert len(sequence) == 1_000_000
    assert made == []
    assert (sequence[3], sequence[-1]) == ("3", "999999")
    assert list(sequence[5:7]) == ["5", "6"]
    assert list(sequence.of([8, 4])) == ["8", "4"]
    assert sequence.then(len)[10] == 2
    assert made == [3, 999_999, 5, 6, 8, 4, 10]
