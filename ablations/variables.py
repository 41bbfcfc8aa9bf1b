"""Variables of the environment that are read here: one that is misspelt is told, not ignored."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

PREFIX = "ABLATIONS_"
KNOWN = (
    "ABLATIONS_CACHE",
    "ABLATIONS_CHECKPOINT_SECONDS",
    "ABLATIONS_EXECUTOR",
    "ABLATIONS_MLFLOW",
    "ABLATIONS_NO_PLUGINS",
    "ABLATIONS_OUT",
    "ABLATIONS_PLUGINS",
    "ABLATIONS_WEIGHT_BANK",
    "ABLATIONS_WORKERS",
)


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A line for each variable with our prefix that nothing reads, with the nearest name."""
    names = sorted(name for name in environment if name.upper().startswith(PREFIX))
    return [
        f"environment variable {name} has no effect; {_nearest(name)}"
        for name in names
        if name not in KNOWN
    ]


def _nearest(name: str) -> str:
    # Without the prefix, which would make every name near to every other.
    known = {one.removeprefix(PREFIX): one for one in KNOWN}
    close = difflib.get_close_matches(name.upper().removeprefix(PREFIX), known, n=1)
    suggestion = f"did you mean {known[close[0]]}? " if close else ""
    return f"{suggestion}known: {', '.join(KNOWN)}"
