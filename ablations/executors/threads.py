"""How many threads the numerical libraries use."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator

VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read by the libraries when they are loaded."""


def set_threads(threads: int) -> None:
    """Use `threads` threads from here on, in libraries loaded already and those loaded later.

    torch is told when it is there and not loaded for it: it obeys the variables at its import.
    """
    os.environ.update(dict.fromkeys(VARIABLES, str(threads)))
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Use `threads` threads within the block, and as many as before after it.

    Loads torch where it is installed: the number to go back to cannot be known otherwise.
    """
    before = {name: os.environ.get(name) for name in VARIABLES}
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    torch_before = torch.get_num_threads() if torch else None
    set_threads(threads)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if torch and torch_before is not None:
            torch.set_num_threads(torch_before)
