"""The combinations of a design: all of them, or the baseline and one change each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ablations.combinations import (
    baseline_number,
    combinations,
    count,
    label,
    pairs,
    places,
)
from ablations.design import cells, check_levels
from ablations.grid import Grid, load_grid
from ablations.grids.document import GridError
from tests.ablations.dummies import parts

FACTORS = {"norm": ["layernorm", "rmsnorm"], "depth": [2, 4, 6], "bias": [True, False]}


def grid(factors: Mapping[str, Any] = FACTORS, **others: Any) -> Grid:
    mapping = {"name": "x", "factors": factors, "measures": ["gradient_flow"], **others}
    return load_grid(mapping, parts())


def labels(asked: Grid) -> list[str]:
    return [" ".join(level.label for level in chosen.values()) for chosen in combinations(asked)]


def test_a_full_design_has_every_combination_the_first_factor_slowest() -> None:
    asked = grid()
    assert count(asked) == len(labels(asked)) == 12
    assert labels(asked)[:3] == [
        "layernorm 2 true",
        "layernorm 2 false",
        "layernorm 4 true",
    ]


def test_one_at_a_time_is_the_baseline_and_each_other_level_in_its_place() -> None:
    asked = grid(design="one_at_a_time", baseline={"norm": "rmsnorm", "depth": 4})
    assert labels(asked) == [
        "rmsnorm 4 true",
        "layernorm 4 true",
        "rmsnorm 2 true",
        "rmsnorm 6 true",
        "rmsnorm 4 false",
    ]
    assert count(asked) == 5
    made = list(cells(asked, parts()))
    assert made[0].levels == asked.baseline
    assert [cell.label for cell in made] == [
        "norm=rmsnorm depth=4 bias=true",
        "norm=layernorm depth=4 bias=true",
        "norm=rmsnorm depth=2 bias=true",
        "norm=rmsnorm depth=6 bias=true",
        "norm=rmsnorm depth=4 bias=false",
    ]


def test_the_cells_of_one_at_a_time_are_those_of_the_full_design() -> None:
    full = {cell.cell: cell.label for cell in cells(grid(), parts())}
    for cell in cells(grid(design="one_at_a_time"), parts()):
        assert full[cell.cell] == cell.label


def test_a_placebo_is_one_more_change() -> None:
    asked = grid({"norm": ["layernorm", "rmsnorm"]}, design="one_at_a_time", placebo=True)
    assert labels(asked) == ["layernorm first", "rmsnorm first", "layernorm second"]


def test_a_million_combinations_may_be_a_few_cells() -> None:
    factors = {key: list(range(1, 101)) for key in ("context", "vocab_size", "d_ff")}
    asked = grid(factors, design="one_at_a_time")
    assert count(asked) == 1 + 3 * 99


def test_a_factor_that_acts_beside_another_level_alone_has_no_effect_one_at_a_time() -> None:
    factors = {"feed_forward": ["own", "mlp"], "activation": ["gelu", "silu"]}
    assert count(grid(factors)) == 4
    with pytest.raises(GridError) as caught:
        grid(factors, design="one_at_a_time")
    assert str(caught.value) == (
        "factors.activation: has no effect: no other component of the grid uses its activation"
    )


def test_a_skipped_baseline_leaves_nothing_to_compare_with() -> None:
    exclude = [{"norm": "layernorm", "depth": 2, "because": "nobody builds it"}]
    full = grid(exclude=exclude)
    check_levels(full, cells(full, parts()))
    asked = grid(exclude=exclude, design="one_at_a_time")
    with pytest.raises(GridError) as caught:
        check_levels(asked, cells(asked, parts()))
    assert str(caught.value) == (
        "design: the baseline, with which every other cell is compared, is skipped: "
        "nobody builds it"
    )


@pytest.mark.parametrize("design", ["full", "one_at_a_time"])
@pytest.mark.parametrize("baseline", [{}, {"norm": "rmsnorm", "depth": 6, "bias": False}])
def test_cells_are_found_by_their_numbers(design: str, baseline: dict[str, Any]) -> None:
    asked = grid(design=design, baseline=baseline)
    made = list(cells(asked, parts()))
    assert [label(asked.factors, places(asked, n)) for n in range(count(asked))] == [
        cell.label for cell in made
    ]
    assert made[baseline_number(asked)].levels == asked.baseline


@pytest.mark.parametrize("design", ["full", "one_at_a_time"])
def test_pairs_differ_in_one_factor_alone(design: str) -> None:
    asked = grid(design=design, baseline={"depth": 4})
    levels = [cell.levels for cell in cells(asked, parts())]
    for factor in asked.factors:
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, chosen in enumerate(levels):
            others = tuple(value for name, value in chosen.items() if name != factor.name)
            groups.setdefault(others, []).append(number)
        expected = [(group[0], other) for group in groups.values() for other in group[1:]]
        assert list(pairs(asked, factor)) == expected
