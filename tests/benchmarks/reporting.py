"""Reports of runs that never happened, large ones among them: processor time, memory, size.

Each is written in a process of its own, from frames as an opened store gives them.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from tests.benchmarks.planning import peak_memory
from tests.benchmarks.simulated_runs import simulated
from tests.browser import EXECUTABLE, chromium, opened

BEGUN = "performance.timing.navigationStart"
INITIAL, TRAINED = "parameters, gradient_flow", "training"


def report_rows(cells: Sequence[int] = (72, 10_000), seeds: int = 3) -> list[dict[str, object]]:
    """Of a report of each size, at initialization and of a training, what it took.

    ``rows`` are those of its frames; ``seconds`` are of all processors, imports and drawing among
    them; ``peak_mib`` is the most memory held, frames and all; ``html_bytes`` the page's size.
    """
    fresh = multiprocessing.get_context("spawn")
    rows: list[dict[str, object]] = []
    for n, measures in product(cells, (INITIAL, TRAINED)):
        with tempfile.TemporaryDirectory() as folder:
            with fresh.Pool(1) as pool:
                row = pool.apply(_report, (n, seeds, measures, folder))
            rows.append({**row, "seconds to interactive": _to_interactive(Path(folder))})
    return rows


def _to_interactive(folder: Path) -> float | None:
    """Seconds from opening the page until its table can be sorted; None without Chromium."""
    if EXECUTABLE is None:
        return None
    with chromium() as browser, opened(browser, folder / "report.html") as seen:
        return float(seen.page.evaluate("performance.timing.domComplete - " + BEGUN)) / 1000


def _report(n: int, seeds: int, measures: str, folder: str) -> dict[str, object]:
    frames = simulated(n, seeds, trained=measures == TRAINED)
    Path("/proc/self/clear_refs").write_text("5")  # forgets what making them took
    begun = time.process_time()
    import reports

    page = reports.write(frames, folder)
    seconds = time.process_time() - begun
    size = page.stat().st_size
    return {
        "cells": len(frames.cells),
        "seeds": seeds,
        "measures": measures,
        "rows": len(frames.trials) + len(frames.metrics) + len(frames.profiles),
        "seconds": seconds,
        "peak_mib": peak_memory() / 2**20,
        "html_bytes": size,
    }
