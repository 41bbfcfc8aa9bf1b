"""Whose code a trial runs beside this project's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

OURS = frozenset({"ablations", "components", "registry", "reports"})
"""The packages of this distribution; whatever lies elsewhere is a stranger's."""


def strangers_of(targets: Iterable[str]) -> frozenset[str]:
    """The top-level packages of targets (`module:Class`) that are not this project's.

    By package, since its modules import and change each other.
    """
    tops = (target.partition(":")[0].partition(".")[0] for target in targets)
    return frozenset(tops) - OURS


def is_ours(target: str) -> bool:
    """Whether a target is this project's, so that what its code does is known."""
    return not strangers_of([target])


class WithStrangers(Protocol):
    """A task of a worker that tells whose code it runs."""

    @property
    def strangers(self) -> frozenset[str]:
        """Names as `strangers_of` gives them."""
        ...


def by_strangers(task: WithStrangers) -> tuple[int, list[str]]:
    """A sort key that brings together tasks with the same strangers, those without any first."""
    return len(task.strangers), sorted(task.strangers)
