"""Runs benchmarks and tells what they took: python -m tests.benchmarks [PART ...].

Machines are noisy: no time is judged, and what is compared ran in turn, round by round, on one
machine. The peers of `trials` beside the bare loop need the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.benchmarks import (
    contenders,
    executing,
    growth,
    keeping,
    reporting,
    side_by_side,
    starting,
    worker_memory,
)
from tests.benchmarks.peers import Size
from tests.benchmarks.planning import planning_rows
from tests.benchmarks.tables import shown
from tests.marks import between

PAGE = Path(__file__).parents[2] / "docs" / "speed.md"
FIGURES = PAGE.with_suffix(".json")

Rows = Iterable[dict[str, Any]]
PARTS: dict[str, tuple[str, Callable[[int], Rows]]] = {
    "trials": ("A trial, beside other loops", contenders.rows),
    "growth": ("How the cost of a trial grows", growth.rows),
    "workers": (
        "Workers and threads",
        lambda n: (
            {"d_model": width, **row}
            for width, seeds in ((256, 2), (768, 1))
            for row in side_by_side.rows(Size(d_model=width), n, seeds)
        ),
    ),
    "planning": ("Planning", lambda n: planning_rows()),
    "memory": ("A worker's memory", worker_memory.rows),
    "executors": ("Executors", executing.rows),
    "store": ("Keeping results", keeping.rows),
    "reports": ("Reports", lambda n: reporting.report_rows()),
    "start": ("Starting", starting.rows),
}
"""By name: a heading, and what measures it in so many rounds."""


def environment() -> dict[str, str]:
    """The machine and the versions."""
    told = {
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }
    for package in ("torch", "transformers", "x-transformers", "pandas", "matplotlib"):
        try:
            told[package] = version(package)
        except PackageNotFoundError:
            told[package] = "not installed"
    return told


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    named = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(named, "unknown processor")


def written(figures: dict[str, Any], page: str) -> str:
    """The page with these figures between its marks."""
    for name, part in figures.items():
        told = ", ".join(f"{key} {value}" for key, value in part["environment"].items())
        text = f"\n{shown(part['rows'])}\n\nOn {part['date']}: {told}.\n\n"
        page = between(page, PAGE.name, name, "python -m tests.benchmarks", text)
    return page


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    parser.add_argument("--page", action="store_true", help="put the figures on the page")
    asked = parser.parse_args()
    unknown = sorted(set(asked.parts) - PARTS.keys())
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    figures: dict[str, Any] = {}
    for name in asked.parts or PARTS:
        heading, measure = PARTS[name]
        print(f"\n## {heading}\n", flush=True)
        rows = list(measure(asked.rounds))
        figures[name] = {"date": str(date.today()), "environment": environment(), "rows": rows}
        print(shown(rows), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if asked.page:
        held = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        figures = {**held, **figures}
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(written(figures, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
