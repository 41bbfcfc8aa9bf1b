"""Runs the contenders in turn, round by round, and tells ratios with their spread.

    python -m tests.benchmarks --planning [CELLS ...] [--json FILE]
    python -m tests.benchmarks [--rounds 5] [--trials 4] [--seeds 3] [--json FILE] [WIDTH ...]
    python -m tests.benchmarks --reports CELLS [CELLS ...] [--seeds 3] [--json FILE]

Machines are noisy: no time is judged, and every ratio is of two that ran in the same round. The
peers beside `bare` need the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from tests.benchmarks.engine import carried
from tests.benchmarks.peers import Size, Trial, peers
from tests.benchmarks.planning import SIZES, planning_rows, planning_shown
from tests.benchmarks.reporting import report_rows, reports_shown

ENGINE, MEASURING = "ablations", "ablations, within trials"


def rounds(size: Size, n: int, trials: int, seeds: int) -> dict[str, list[float]]:
    """Seconds a trial of each contender in each round; a first round warms up and is left out."""
    contenders = list(peers(size))
    found: defaultdict[str, list[float]] = defaultdict(list)
    for place in range(n + 1):
        told = {name: _seconds(trial, trials) for name, trial in contenders}
        with tempfile.TemporaryDirectory() as folder:
            own = carried(size, seeds, Path(folder))
        told |= {ENGINE: own.trial, MEASURING: own.measuring}
        if place:
            for name, seconds in told.items():
                found[name].append(seconds)
    return dict(found)


def _seconds(trial: Trial, n: int) -> float:
    begun = time.perf_counter()
    for seed in range(n):
        trial(seed)
    return (time.perf_counter() - begun) / n


def table(found: dict[str, list[float]]) -> list[dict[str, object]]:
    """Of each contender its median seconds, and how the engine's compare: median and range."""
    rows: list[dict[str, object]] = []
    for name, seconds in found.items():
        ratios = [own / other for own, other in zip(found[ENGINE], seconds, strict=True)]
        rows.append(
            {
                "contender": name,
                "seconds": statistics.median(seconds),
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
            }
        )
    return rows


def shown(rows: list[dict[str, object]]) -> str:
    """The table as Markdown."""
    lines = ["| contender | seconds a trial | ablations over it |", "|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['contender']} | {row['seconds']:.3f} | "
            f"{row['ratio']:.2f} ({row['lowest']:.2f} to {row['highest']:.2f}) |"
        )
    return "\n".join(lines)


def environment() -> dict[str, str]:
    """The machine and the versions."""
    told = {"machine": platform.machine(), "python": platform.python_version()}
    for package in ("torch", "transformers", "x-transformers"):
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            told[package] = "not installed"
    return told | {"threads": str(torch.get_num_threads())}


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("widths", nargs="*", type=int, default=[256, 768], metavar="WIDTH")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=4, help="of a peer in a round")
    parser.add_argument("--seeds", type=int, default=3, help="of the engine's grid in a round")
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--reports", nargs="+", type=int, metavar="CELLS", help="time reports of so many instead"
    )
    parser.add_argument(
        "--planning", nargs="*", type=int, metavar="CELLS", help="plan grids of so many instead"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    document: dict[str, object] = {"environment": environment(), "widths": {}}
    if asked.reports:
        document["reports"] = report_rows(asked.reports, asked.seeds)
        print(reports_shown(document["reports"]))  # type: ignore[arg-type]
    if asked.planning is not None:
        document["planning"] = list(planning_rows(asked.planning or SIZES))
        print(planning_shown(document["planning"]))  # type: ignore[arg-type]
    for width in () if asked.reports or asked.planning is not None else asked.widths:
        size = Size(d_model=width, depth=asked.depth, tokens=asked.tokens)
        rows = table(rounds(size, asked.rounds, asked.trials, asked.seeds))
        document["widths"] |= {width: rows}  # type: ignore[operator]
        print(f"\nd_model {width}, depth {asked.depth}, {asked.tokens} tokens\n\n{shown(rows)}")
    if asked.json:
        asked.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
