"""How long a command takes before it does anything, over Python alone."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "ablations --help": ["-m", "ablations", "--help"],
    "ablations run --help": ["-m", "ablations", "run", "--help"],
    "import torch": ["-c", "import torch"],
}


def rows(rounds: int) -> Iterator[dict[str, Any]]:
    """Median seconds of each, in turn."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for place in range(rounds + 1):
        for name, arguments in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            if place:
                found[name].append(time.perf_counter() - begun)
    first = found["python -c pass"]
    for name, seconds in found.items():
        ratios = [one / other for one, other in zip(seconds, first, strict=True)]
        yield {
            "command": name,
            "seconds": statistics.median(seconds),
            "over Python alone": statistics.median(ratios),
        }
