"""What factors vary: keys of the model and options of measures, read level by level."""

from __future__ import annotations

from typing import Any

import pytest

from ablations import varied
from ablations.grid import Grid, load_grid
from ablations.grids.factors import Level
from ablations.models.resolution import Resolver
from ablations.varied import VariedKey, VariedMeasure, written
from tests.ablations.dummies import parts

FACTORS = {
    "norm": ["layernorm", "rmsnorm"],
    "norm.eps": [1e-5, 1e-6],
    "depth": [2, 4],
    "training.steps": [5, 10],
    "training.learning_rate": [1e-3, 1],
}


def grid(**others: Any) -> Grid:
    mapping = {"name": "x", "factors": FACTORS, "measures": ["parameters", "training"], **others}
    return load_grid(mapping, parts())


def test_a_key_is_written_with_its_options_over_it() -> None:
    asked = grid()
    levels = {"norm": "rmsnorm", "norm.eps": 1e-6}
    assert written(asked, "norm", levels) == {"rmsnorm": {"eps": 1e-6}}
    assert written(asked, "depth", {}) == 12


def test_a_key_is_read_once_for_each_combination_of_its_own_levels() -> None:
    asked = grid()
    key = VariedKey(asked, "norm", Resolver(parts()))
    one = key.value((1, 0, 0, 0, 0))
    assert one.plain == {"rmsnorm": {"eps": 1e-5}}
    assert key.value((1, 0, 1, 1, 1)) is one
    assert key.value((1, 1, 0, 0, 0)).plain == {"rmsnorm": {"eps": 1e-6}}
    assert not key.repeats


def test_a_key_that_is_the_same_at_two_combinations_repeats() -> None:
    asked = grid()
    eps = asked.factors[1]
    object.__setattr__(eps, "levels", (*eps.levels, Level(label="again", value=1e-05)))
    assert VariedKey(asked, "norm", Resolver(parts())).repeats
    assert not VariedKey(asked, "depth", Resolver(parts())).repeats


@pytest.fixture
def training() -> VariedMeasure:
    asked = grid(measures=["parameters", {"training": {"steps": 5}}])
    resolver = Resolver(parts())
    return VariedMeasure(asked, asked.measures[1], resolver.chooser, parts())


def test_a_measure_has_the_options_of_each_cell(training: VariedMeasure) -> None:
    choice = training.choice((0, 0, 0, 1, 1))
    assert dict(choice.options) == {"steps": 10, "learning_rate": 1.0}
    assert type(choice.options["learning_rate"]) is float
    assert choice.given == {"steps", "learning_rate"}
    assert training.choice((1, 1, 1, 1, 1)) is choice
    assert training.changed((0, 0, 0, 0, 0)) == {}
    assert training.changed((0, 0, 0, 1, 0)) == {"steps": 10}
    assert not training.repeats


def test_few_choices_of_a_measure_are_kept(
    training: VariedMeasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(varied, "MOST", 2)
    found = [training.choice((0, 0, 0, *places)) for places in ((0, 0), (0, 1), (1, 0), (0, 0))]
    assert found[0] == found[3]
    assert found[0] is not found[3]


def test_a_measure_that_no_factor_varies_is_one_choice() -> None:
    asked = grid()
    measure = VariedMeasure(asked, asked.measures[0], Resolver(parts()).chooser, parts())
    assert measure.choice((0, 0, 0, 0, 0)) is asked.measures[0].choice
    assert measure.changed((0, 0, 0, 1, 1)) == {}
    assert not measure.repeats
