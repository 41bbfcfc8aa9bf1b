"""Grids planned: seconds, and the most memory that the process had, by the number of cells.

Each grid is planned in a process of its own, from its text to the document of `plan --json`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Grid = Mapping[str, Any]

SIZES = (1_000, 10_000, 100_000, 1_000_000)

_MODEL = {"d_model": 64, "n_heads": 4, "context": 32}
_PARTS: dict[str, list[Any]] = {
    "norm": ["layernorm", "rmsnorm", {"layernorm": {"bias": False}}, "none"],
    "activation": ["gelu", "silu", "relu", "swiglu", "geglu"],
    "attention": [
        "mha",
        {"gqa": {"n_kv_heads": 2}},
        "mqa",
        {"mha": {"window": 8}},
        {"mha": {"qk_norm": "per_head"}},
    ],
    "placement": ["pre", "post", "sandwich", "parallel", "deepnorm"],
    "bias": [True, False],
    "position": ["learned", "rope", "alibi", "sinusoidal", "none"],
    "d_ff": [None, 128, 192, 256],
    "depth": [2, 4, 8, 12, 24],
    "vocab_size": [256, 512, 1024, 2048, 4096],
    "tie_embeddings": [False, True],
}
_RATES = [round(1e-4 * 1.1**n, 9) for n in range(100)]

_CHILD = """
import json, resource, sys
import ablations
from ablations.answers import Listed, as_json_pieces
from tests.benchmarks.planning import peak_memory
grid = json.load(sys.stdin)
planned = ablations.plan(ablations.load_grid(grid))
size = sum(map(len, as_json_pieces(planned.document(Listed))))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "cells": len(planned.cells),
    "skipped": len(planned.cells) - len(planned.running),
    "seconds": used.ru_utime + used.ru_stime,
    "bytes": peak_memory(),
}))
"""


def peak_memory() -> int:
    """Bytes that this process had at most: Linux counts a large parent's in `getrusage`."""
    status = Path("/proc/self/status")
    if status.exists():
        found = (line.split() for line in status.read_text().splitlines())
        return next(int(words[1]) * 1024 for words in found if words[0] == "VmHWM:")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def of_parts(cells: int) -> Grid:
    """A grid that varies parts and sizes of the model: of so many cells, a power of ten."""
    factors: dict[str, list[Any]] = {}
    for name, levels in _PARTS.items():
        left, rest = divmod(cells, len(levels))
        if cells > 1 and not rest:
            factors[name], cells = levels, left
    assert cells == 1, "the levels of some factors multiply to each power of ten up to a million"
    measures = ["parameters", "gradient_flow"]
    return {"name": "parts", "model": _MODEL, "factors": factors, "measures": measures, "seeds": 1}


def of_options(cells: int) -> Grid:
    """A grid that varies options of a training, beside two parts of the model."""
    factors = {
        "norm": _PARTS["norm"][:2],
        "activation": _PARTS["activation"],
        "training.learning_rate": _RATES[: cells // 10 if cells < 1000 else 100],
        "training.batch": list(range(1, max(2, cells // 1000 + 1))),
    }
    return {
        "name": "options",
        "model": _MODEL,
        "factors": factors,
        "measures": ["parameters", {"training": {"steps": 10}}],
        "seeds": 1,
    }


def planned(grid: Grid) -> dict[str, Any]:
    """Plan a grid in a process of its own: its cells, CPU seconds and bytes of memory at most."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(grid),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise RuntimeError(child.stderr)
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


def planning_rows(sizes: Iterable[int] = SIZES) -> Iterator[dict[str, Any]]:
    """A row for each grid and size."""
    for size in sizes:
        for name, grid in (("parts", of_parts), ("options", of_options)):
            yield {"grid": name, **planned(grid(size))}
