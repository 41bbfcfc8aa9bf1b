"""What became of each plugin that was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from registry.spec import Spec


@dataclass(frozen=True, kw_only=True)
class PluginRecord:
    """One plugin and what came of it.

    `asked` says that it was asked for by its module or `path`, beside those that are installed;
    `path` is its file or folder where it is not installed.
    """

    name: str
    version: str
    state: Literal["loaded", "failed"]
    message: str = ""
    specs: tuple[Spec, ...] = ()
    follows: Mapping[str, Callable[..., Any]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Its hooks that follow a run, by name; called with every argument, by keyword."""
    asked: bool = False
    path: str = ""
    plugin: Any = field(default=None, compare=False, repr=False)
    """What was loaded, in the process that loaded it."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "follows": {}, "plugin": None}  # a module does not travel


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """An installed plugin that was not loaded because a setting, `by`, keeps it out."""

    name: str
    version: str
    by: str
