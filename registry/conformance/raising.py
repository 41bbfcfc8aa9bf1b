"""A stranger's exception in one line, with the line of its own source that raised."""

from __future__ import annotations

import linecache
import os
import traceback
from pathlib import Path

import torch

from registry.errors import describe

_NOT_THEIRS = tuple(
    f"{folder}{os.sep}" for folder in (Path(torch.__file__).parent, Path(__file__).parents[1])
)


def raised(error: BaseException) -> str:
    """`raised ValueError: not today (at `raise ValueError("not today")`)`."""
    return f"raised {describe(error)}{source_line(error)}"


def source_line(error: BaseException) -> str:
    """The innermost line that is neither torch's nor ours, as ` (at `y = self.out(y)`)`."""
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if file.startswith(_NOT_THEIRS):
            continue
        line = linecache.getline(file, number).strip()
        return f" (at `{line}`)" if line else ""
    return ""
