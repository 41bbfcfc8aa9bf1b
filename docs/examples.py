"""Makes the example reports of the documentation.

python docs/examples.py [NAME ...] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import ablations

DOCS = Path(__file__).parent
EXAMPLES = {
    "norm-placement": DOCS.parent / "grid.yaml",
    "learning-rates": DOCS / "learning-rates.yaml",
}
"""Grids by the name of their page."""


def make(name: str, out: Path) -> Path:
    """Run a grid from nothing and put its report into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        summary = ablations.run(ablations.load_grid(EXAMPLES[name]), folder)
        assert summary.states == {"done": summary.trials}, summary.states
        return Path(shutil.copy(summary.report, out / f"{name}.html"))


def main() -> None:
    """Make those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXAMPLES)}")
    parser.add_argument("--out", type=Path, default=DOCS)
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - EXAMPLES.keys())
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(EXAMPLES)}")
    for name in asked.names or EXAMPLES:
        print(make(name, asked.out))


if __name__ == "__main__":
    main()
