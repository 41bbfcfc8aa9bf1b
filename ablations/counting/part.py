"""What a part of a decoder comes to, or why it cannot be built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Make = tuple[str, tuple[tuple[str, Any], ...]]
"""A part that another one makes: its kind, and the sizes that it is given beyond the other's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A part that is not built: why it does not fit, or None where its constructor breaks."""

    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What a part comes to, with those that it makes, and what a decoder asks of it."""

    parameters: int = 0
    matrices: int = 0
    seen: tuple[type, bool] = (object, False)
    """Its class, and whether it is gated."""
    mixers: tuple[tuple[bool, bool], ...] = ()
    """Of each attention whether it has position hooks, and whether it has dropout."""
    final_norm: object = None
    embeds: bool = False
    acts: bool = False
    """Whether a position acts on queries, keys or scores."""
    uneven: bool = False
    """Whether some parameter is no real number, so that one is not as large as another."""
    read: frozenset[str] = frozenset()
    """All that it asks of its situation, and those that it makes ask."""
    hides: bool = False
    """Whether a part that it made is not held as a submodule."""

    @property
    def of_its_layer(self) -> bool:
        """Whether it may be another in another layer."""
        return "layer" in self.read
