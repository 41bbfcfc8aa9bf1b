"""Profiles along depth and along the context."""

from __future__ import annotations

from typing import Any

from registry import Profile


def along_depth(name: str, unit: str, summary: str, convention: str = "", **more: Any) -> Profile:
    """A profile with a value for each block."""
    return Profile(
        name=name, unit=unit, axis="depth", summary=summary, convention=convention, **more
    )


def along_context(name: str, unit: str, summary: str, convention: str = "", **more: Any) -> Profile:
    """A profile with a value for each context."""
    return Profile(
        name=name, unit=unit, axis="context", summary=summary, convention=convention, **more
    )
