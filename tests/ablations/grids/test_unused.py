"""Options of measures that change nothing beside the others are refused, where they stand."""

import pytest

import ablations

MODEL = {"depth": 1, "d_model": 8, "n_heads": 2, "context": 8}
SGD = "has no effect: sgd has momentum; betas are those of adam and adamw"
ADAM = "has no effect: it is sgd's; adamw has betas"


def planned(measure, **factors):
    grid = {
        "name": "x",
        "model": MODEL,
        "factors": {"norm": ["layernorm", "rmsnorm"], **factors},
        "measures": [measure],
    }
    return ablations.plan(ablations.load_grid(grid))


@pytest.mark.parametrize(
    ("measure", "factors", "message"),
    [
        (
            {"training": {"optimizer": "sgd", "betas": [0.9, 0.9]}},
            {},
            f"measures[0].training.betas: {SGD}",
        ),
        ({"one_step": {"momentum": 0.5}}, {}, f"measures[0].one_step.momentum: {ADAM}"),
        ("one_step", {"one_step.momentum": [0, 0.9]}, f"factors.one_step.momentum: {ADAM}"),
    ],
)
def test_an_option_without_effect_in_any_cell_is_refused(measure, factors, message):
    with pytest.raises(ablations.GridError) as caught:
        planned(measure, **factors)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("measure", "factors"),
    [
        ({"training": {"optimizer": "sgd", "momentum": 0.5}}, {}),
        ({"one_step": {"momentum": 0.5}}, {"one_step.optimizer": ["sgd", "adam"]}),
        ("one_step", {}),
    ],
)
def test_one_that_has_an_effect_somewhere_is_taken(measure, factors):
    assert planned(measure, **factors).trials > 0
