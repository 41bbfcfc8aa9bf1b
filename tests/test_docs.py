"""The grids in the documentation are grids."""

import re
from pathlib import Path

import pytest

import ablations

ROOT = Path(__file__).parents[1]


def pages():
    for grid in sorted((ROOT / "docs").glob("*.yaml")):
        yield pytest.param(grid.read_text(encoding="utf-8"), id=grid.name)
    for page in sorted((ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"```yaml\n(name: .*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for block in blocks:
            yield pytest.param(block, id=f"{page.name}:{block.split()[1]}")


GRIDS = list(pages())


def test_there_are_grids():
    assert len(GRIDS) >= 3


@pytest.mark.parametrize("text", GRIDS)
def test_every_grid_of_the_documentation_can_be_planned(text, tmp_path):
    path = tmp_path / "grid.yaml"
    path.write_text(text, encoding="utf-8")
    plan = ablations.plan(ablations.load_grid(path))
    assert plan.trials >= 2
