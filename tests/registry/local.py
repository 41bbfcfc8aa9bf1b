"""Plugins written into a folder."""

from __future__ import annotations

from pathlib import Path

PLUGIN = """
from registry import ComponentSpec, hookimpl


class Norm:
    scale = {scale}

    def __init__(self, dims) -> None: ...


@hookimpl
def register_components():
    return [ComponentSpec(kind="norm", name="{name}", target=Norm)]
"""


def write(path: Path, name: str = "mine", scale: int = 1, more: str = "") -> Path:
    """A plugin that registers a norm, at that path; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(more + PLUGIN.format(name=name, scale=scale), encoding="utf-8")
    return path
