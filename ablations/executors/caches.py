"""What this process keeps only to be faster, and gives up where memory is short."""

from __future__ import annotations

from collections.abc import Callable

_releases: list[Callable[[], object]] = []


def on_short_memory(release: Callable[[], object]) -> None:
    """Have something called that empties a cache."""
    _releases.append(release)


def release_caches() -> None:
    """Empty all of them."""
    for release in _releases:
        release()
