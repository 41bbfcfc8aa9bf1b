"""Reports of runs that never happened, large ones among them: processor time, memory, size.

    python -m tests.benchmarks --reports [CELLS ...]

Each is written in a process of its own, from frames as an opened store gives them, so that memory
is that of the report alone.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import product

from tests.benchmarks.simulated_runs import simulated

COLUMNS = ["cells", "seeds", "measures", "rows", "seconds", "peak_mib", "html_bytes"]


def report_rows(cells: Sequence[int] = (72, 10_000), seeds: int = 3) -> list[dict[str, object]]:
    """Of a report of each size, at initialization and of a training, what `COLUMNS` say.

    ``seconds`` are of all processors, imports and drawing among them; ``rows`` of all frames.
    """
    asked = product(cells, ("parameters, gradient_flow", "training"))
    fresh = multiprocessing.get_context("spawn")
    rows: list[dict[str, object]] = []
    for n, measures in asked:
        with fresh.Pool(1) as pool:
            rows.append(pool.apply(_report, (n, seeds, measures)))
    return rows


def shown(rows: Sequence[Mapping[str, object]]) -> str:
    """The table as Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for row in rows:
        values = [f"{v:,.1f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else v
                  for v in (row[name] for name in COLUMNS)]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, values))} |")
    return "\n".join(lines)


def _report(n: int, seeds: int, measures: str) -> dict[str, object]:
    trained = measures == "training"
    frames = simulated(n, seeds, trained=trained)
    begun = time.process_time()
    import reports

    with tempfile.TemporaryDirectory() as folder:
        page = reports.write(frames, folder)
        seconds = time.process_time() - begun
        size = page.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cells": len(frames.cells),
        "seeds": seeds,
        "measures": measures,
        "rows": len(frames.trials) + len(frames.metrics) + len(frames.profiles),
        "seconds": seconds,
        "peak_mib": peak / (2**20 if sys.platform == "darwin" else 2**10),
        "html_bytes": size,
    }
