"""The placebo in a grid: a factor that a person asks for, and whose levels nobody writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ablations.design import Cell, cells, check_levels
from ablations.grid import load_grid
from ablations.grids.document import GridError
from ablations.grids.placebo import factor_path, level_path
from ablations.grids.settings import Setting
from tests.ablations.dummies import parts
from tests.ablations.loading import HEAD, load, refused

NORMS = "factors: {norm: [layernorm, rmsnorm]}\n"


def made(**changes: Any) -> list[Cell]:
    mapping = {"name": "x", "factors": {"norm": ["layernorm", "rmsnorm"]}, **changes}
    grid = load_grid({"measures": ["gradient_flow"], **mapping}, parts())
    return list(cells(grid, parts()))


def test_it_is_a_factor_of_its_own_whose_baseline_is_first(tmp_path: Path) -> None:
    grid = load(tmp_path, f"{HEAD}{NORMS}placebo: true\nbaseline: {{norm: rmsnorm}}\n")
    assert [(f.name, f.scope, [level.label for level in f.levels]) for f in grid.factors] == [
        ("norm", "model", ["layernorm", "rmsnorm"]),
        ("placebo", "stream", ["first", "second"]),
    ]
    assert grid.baseline == {"norm": "rmsnorm", "placebo": "first"}
    assert Setting("placebo", "true", "given") in grid.settings()


@pytest.mark.parametrize(
    ("text", "origin"), [("placebo: false\n", "given"), ("", "default")], ids=["false", "absent"]
)
def test_without_it_there_is_none(tmp_path: Path, text: str, origin: Any) -> None:
    grid = load(tmp_path, HEAD + NORMS + text)
    assert [factor.name for factor in grid.factors] == ["norm"]
    assert Setting("placebo", "false", origin) in grid.settings()


def test_the_first_is_the_cell_of_a_grid_without_it_and_the_second_is_not() -> None:
    plain, found = made(), made(placebo=True)
    assert [cell.label for cell in found] == [
        "norm=layernorm placebo=first",
        "norm=layernorm placebo=second",
        "norm=rmsnorm placebo=first",
        "norm=rmsnorm placebo=second",
    ]
    assert [cell.cell for cell in found[::2]] == [cell.cell for cell in plain]
    assert [cell.content for cell in found[::2]] == [cell.content for cell in plain]
    assert len({cell.cell for cell in found}) == 4
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert (first.stream, second.stream) == ("", "placebo")
        assert second.content == {**first.content, "stream": "placebo"}
        assert second.architecture == first.architecture


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "factors: {norm: [layernorm, rmsnorm], placebo: [first, second]}\n",
            "3:39: factors.placebo: a grid does not give its levels: write placebo: true beside "
            "factors",
        ),
        (
            "factors: {norm: [layernorm], placebo: true}\nplacebo: true\n",
            "3:30: factors.placebo: a grid does not give its levels: write placebo: true beside "
            "factors",
        ),
        (
            "factors: {placebo: [[first], 3]}\n",
            "3:11: factors.placebo: a grid does not give its levels: write placebo: true beside "
            "factors",
        ),
        (
            f"{NORMS}placebo: true\nbaseline: {{norm: rmsnorm, placebo: first}}\n",
            "5:27: baseline.placebo: is not for a grid to choose: it is always first; leave it out",
        ),
        (
            f"{NORMS}baseline: {{placebo: second}}\n",
            "4:12: baseline.placebo: is not for a grid to choose: it is always first; leave it out",
        ),
        (
            f"{NORMS}placebo: 1\n",
            "4:10: placebo: expected true or false, not 1",
        ),
        (
            f"{NORMS}placebo: [first, second]\n",
            "4:10: placebo: expected true or false, not a list of 2",
        ),
        (
            f"{NORMS}placebo: true\nexclude: [{{placebo: third, because: why}}]\n",
            "5:21: exclude[0].placebo: third is not a level of placebo; known: first, second",
        ),
        (
            f"{NORMS}exclude: [{{placebo: second, because: why}}]\n",
            "4:12: exclude[0].placebo: is not a factor; known: norm",
        ),
        (
            "model: {placebo: true}\nfactors: {embedding_scale: [1, 2]}\n",
            "3:9: model.placebo: is a key of the grid: write it beside model, not in it",
        ),
    ],
)
def test_how_it_is_not_written(tmp_path: Path, text: str, expected: str) -> None:
    assert refused(tmp_path, HEAD + text) == [f"grid.yaml:{expected}"]


def test_shapes_alone_cannot_show_it(tmp_path: Path) -> None:
    text = f"name: x\nmeasures: [parameters]\n{NORMS}\n  \nplacebo: true\n"
    assert refused(tmp_path, text) == [
        "grid.yaml:6:1: placebo: has no effect: what is measured (parameters) depends on shapes "
        "alone"
    ]
    both = text.replace("[parameters]", "[parameters, gradient_flow]")
    assert len(load(tmp_path, both).factors) == 2


def test_a_measure_of_that_name_has_options_of_its_own(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{HEAD}factors: {{placebo.batch: [1, 2]}}\n")[0].startswith(
        "grid.yaml:3:11: factors.placebo.batch: unknown factor: 'placebo' is no component or"
    )


def test_cells_may_be_left_out_by_it_but_not_all_of_a_level() -> None:
    some = made(
        placebo=True, exclude=[{"placebo": "second", "norm": "rmsnorm", "because": "costly"}]
    )
    assert [cell.skipped for cell in some] == [None, None, None, "costly"]
    mapping = {
        "name": "x",
        "factors": {"norm": ["layernorm", "rmsnorm"]},
        "measures": ["gradient_flow"],
        "placebo": True,
        "exclude": [{"placebo": "second", "because": "costly"}],
    }
    grid = load_grid(mapping, parts())
    with pytest.raises(GridError) as caught:
        check_levels(grid, cells(grid, parts()))
    assert str(caught.value) == "placebo: every cell with placebo=second is skipped: costly"


def test_its_faults_stand_where_it_does() -> None:
    assert factor_path("placebo") == level_path("placebo", 1) == ("placebo",)
    assert factor_path("norm") == ("factors", "norm")
    assert level_path("norm", 1) == ("factors", "norm", 1)
