"""The most memory that a worker of the default grid holds, beside what its trials need."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ablations
from ablations.executors.process_tree import descendants
from ablations.weight_bank import DEFAULT_MIB

GRID = Path(__file__).parents[2] / "grid.yaml"
_IDLE = """
import ablations.trial, ablations.engine
from pathlib import Path
print(Path("/proc/self/status").read_text())
"""


def rows(rounds: int) -> Iterator[dict[str, Any]]:
    """One run by one worker: Linux tells the most that it held, in MiB."""
    grid = ablations.load_grid(GRID)
    weights = max(entry.parameters or 0 for entry in ablations.plan(grid).running) * 4 / 2**20
    peak = 0.0

    def look(state: str) -> None:
        nonlocal peak
        for process in descendants(os.getpid()):
            try:
                status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
            except OSError:
                continue
            peak = max(peak, _mib(status, "VmHWM"))

    with tempfile.TemporaryDirectory() as folder:
        ablations.run(grid, folder, workers=1, ended=look)
    idle = subprocess.run([sys.executable, "-c", _IDLE], capture_output=True, text=True, check=True)
    before = _mib(idle.stdout, "VmHWM")
    yield {
        "grid": grid.name,
        "a trial's weights, MiB": weights,
        "the bank's bound, MiB": DEFAULT_MIB,
        "idle worker, MiB": before,
        "most held, MiB": peak,
        "beyond idle, of 1.5 × weights + bound": (peak - before) / (1.5 * weights + DEFAULT_MIB),
    }


def _mib(status: str, name: str) -> float:
    (line,) = (line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024
