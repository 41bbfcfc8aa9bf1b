"""The example reports: of the grids that are there, small, and made again by their command."""

import html
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ablations import load_grid

DOCS = Path(__file__).parents[1] / "docs"
GRIDS = runpy.run_path(str(DOCS / "examples.py"))["EXAMPLES"]
LARGEST = 1_500_000


def told(page: str) -> dict[str, object]:
    """What a page tells whatever its figures are."""
    return {
        "title": re.findall(r"<title>(.*?)</title>", page),
        "headings": re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.DOTALL),
        "figures": page.count("<figure"),
    }


@pytest.mark.parametrize("name", GRIDS)
def test_an_example_is_of_its_grid_and_small(name):
    page = (DOCS / f"{name}.html").read_text(encoding="utf-8")
    assert len(page.encode()) < LARGEST
    assert GRIDS[name].read_text(encoding="utf-8").strip() in html.unescape(page)
    trials = len(load_grid(GRIDS[name]).seeds)
    assert f"{trials} seeds" in page


@pytest.mark.slow
def test_the_command_makes_the_same_page_again(tmp_path):
    subprocess.run(
        [sys.executable, DOCS / "examples.py", "learning-rates", "--out", tmp_path], check=True
    )
    made, kept = (
        (folder / "learning-rates.html").read_text(encoding="utf-8") for folder in (tmp_path, DOCS)
    )
    assert told(made) == told(kept)
    assert told(made)["figures"] > 3


def test_an_unknown_example_is_told():
    asked = subprocess.run(
        [sys.executable, DOCS / "examples.py", "learning-rate"], capture_output=True, text=True
    )
    assert asked.returncode == 2
    assert asked.stderr.splitlines()[-1].endswith(
        "unknown: learning-rate; there are norm-placement, learning-rates"
    )
