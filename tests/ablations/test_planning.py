"""Plans: what is counted, skipped and refused before anything runs."""

import pytest

import ablations
from ablations.grids.document import GridError
from ablations.measures.parameters import Parameters
from ablations.record import run_plan
from ablations.resuming import missing_trials
from ablations.trial import NotApplicable
from registry import Execution, discover
from tests.ablations import strangers
from tests.ablations.test_engine import GRID, grid, strange_catalog


def test_cells_are_counted_and_computed():
    planned = ablations.plan(grid())
    assert (len(planned.cells), planned.trials) == (4, 8)
    for entry in planned.cells:
        decoder = ablations.build({**GRID["model"], **entry.cell.levels})
        assert entry.parameters == sum(p.numel() for p in decoder.parameters())
        assert entry.flops > 0
    assert planned.flops == 2 * sum(entry.flops for entry in planned.cells)
    assert planned.seconds > 0


@pytest.mark.parametrize(
    ("factors", "measures", "line"),
    [
        (
            {"activation": ["gelu", "silu"], "norm": ["layernorm", "rmsnorm"]},
            ["parameters"],
            "factors.activation: has no effect: what is measured (parameters) is the same at all "
            "its levels",
        ),
        (
            {"position": ["rope", "alibi"]},
            ["parameters"],
            "factors.position: has no effect: what is measured (parameters) is the same at all "
            "its levels",
        ),
    ],
)
def test_a_factor_that_changes_nothing_counted_is_refused(factors, measures, line):
    asked = grid(factors=factors, measures=measures)
    with pytest.raises(GridError) as caught:
        ablations.plan(asked)
    assert str(caught.value) == line


def test_few_cells_are_counted_where_factors_have_effects(monkeypatch):
    real, asked = Parameters.measure, []

    def measure(self, context):
        asked.append(context.architecture)
        return real(self, context)

    monkeypatch.setattr(Parameters, "measure", measure)
    factors = {"norm": ["layernorm", "rmsnorm"], "depth": [2, 3, 4], "bias": [True, False]}
    assert ablations.plan(grid(factors=factors, measures=["parameters"])).trials == 24
    assert len(asked) == 4  # the first cell, and one for each factor


def test_what_cannot_be_counted_is_not_refused(monkeypatch):
    def measure(self, context):
        raise NotApplicable("it depends")

    monkeypatch.setattr(Parameters, "measure", measure)
    asked = grid(factors={"activation": ["gelu", "silu"]}, measures=["parameters"])
    assert ablations.plan(asked).trials == 4


def test_what_a_pass_would_show_is_not_refused():
    planned = ablations.plan(grid(factors={"activation": ["gelu", "silu"]}))
    assert planned.trials == 4
    swiglu = grid(factors={"activation": ["gelu", "silu", "swiglu"]}, measures=["parameters"])
    assert ablations.plan(swiglu).trials == 6


def test_a_cell_that_a_measure_cannot_take_is_skipped_with_its_reason():
    asked = grid(
        factors={"context": [8, 16, 32], "norm": ["layernorm", "rmsnorm"]},
        measures=[{"gradient_flow": {"length": 16}}, "parameters"],
        exclude=[{"context": 16, "norm": "rmsnorm", "because": "enough"}],
    )
    with pytest.raises(GridError) as caught:
        ablations.plan(asked)
    assert str(caught.value) == (
        "factors.context[0]: every cell with context=8 is skipped: measure 'gradient_flow': "
        "length 16 is over the context 8"
    )
    batches = grid(
        factors={"context": [8, 16], "gradient_flow.length": [8, 16]}, measures=["gradient_flow"]
    )
    skipped = ablations.plan(batches).document()["skipped"]
    assert skipped == [
        {
            "cell": "context=8 gradient_flow.length=16",
            "reason": "measure 'gradient_flow': length 16 is over the context 8",
        }
    ]


def against_baseline(**changes):
    return grid(**{"measures": ["parameters", {"speed": {"repeats": 5}}], **changes})


def test_the_baseline_travels_with_the_trials_of_a_measure_that_builds_it():
    asked = against_baseline(baseline={"norm": "rmsnorm", "placement": "post"})
    planned = ablations.plan(asked)
    assert planned.baseline.layers[0].norm.name == "rmsnorm"
    assert planned.baseline.layers[0].placement.name == "post"
    recorded = run_plan(planned, executor="inline", execution=Execution())
    trials = list(missing_trials(planned, recorded, {}))
    assert len(trials) == 8
    assert all(trial.baseline is planned.baseline for trial in trials)
    without = ablations.plan(grid())
    kept = run_plan(without, executor="inline", execution=Execution())
    assert all(trial.baseline is None for trial in missing_trials(without, kept, {}))


def test_another_baseline_is_another_question_for_those_who_build_it_alone():
    kept = [
        run_plan(
            ablations.plan(against_baseline(baseline={"norm": norm})),
            executor="inline",
            execution=Execution(),
        ).identities
        for norm in ("layernorm", "rmsnorm")
    ]
    same = {measure for (cell, measure), key in kept[0].items() if kept[1][cell, measure] == key}
    assert same == {"parameters"}


def test_a_baseline_that_cannot_be_is_refused_for_those_who_build_it():
    changes = {
        "model": {"depth": 2, "context": 16, "vocab_size": 64},
        "factors": {"n_heads": [4, 5], "d_model": [32, 40]},
        "baseline": {"n_heads": 5, "d_model": 32},
    }
    with pytest.raises(GridError) as caught:
        ablations.plan(against_baseline(**changes))
    assert str(caught.value) == (
        "measures[1]: speed compares with the baseline cell, which cannot be built: d_model 32 is "
        "not divisible by n_heads 5; give head_dim, or heads that divide"
    )
    assert ablations.plan(grid(**changes)).baseline is None
    excluded = against_baseline(
        exclude=[{"norm": "layernorm", "placement": "pre", "because": "enough"}]
    )
    assert ablations.plan(excluded).baseline is not None


def test_a_component_that_cannot_be_built_is_planned_to_fail():
    catalog = strange_catalog()
    asked = grid(catalog, factors={"norm": ["layernorm", "breaking"]})
    planned = ablations.plan(asked, catalog=catalog)
    assert [entry.parameters is None for entry in planned.cells] == [False, True]
    assert planned.trials == 4


def test_planning_uses_what_is_installed_by_default():
    assert ablations.plan(grid()).catalog.plugins == discover().plugins


def test_a_cell_of_a_plan_is_planned_anew_to_the_same():
    planned = ablations.plan(grid())
    once, again = list(planned.cells), list(planned.running)
    assert once == again
    assert [entry.cell.cell for entry in once] == [entry.cell.cell for entry in again]
    assert planned.cells[2] == once[2]
    document = planned.document()
    counts = [entry.parameters for entry in once]
    assert document["parameters"] == {"min": min(counts), "max": max(counts)}


def test_a_strangers_measure_is_handed_the_decoder_itself():
    catalog = strange_catalog(strangers.Weighing)
    asked = grid(catalog, measures=["answer", "gradient_flow"], dtype="bfloat16")
    for entry in ablations.plan(asked, catalog=catalog).cells:
        assert entry.least_bytes["answer"] == 2 * entry.parameters
        assert entry.flops > entry.parameters
    alone = grid(
        catalog, measures=["answer", "parameters"], factors={"norm": ["layernorm", "rmsnorm"]}
    )
    for entry in ablations.plan(alone, catalog=catalog).cells:
        assert entry.flops == entry.parameters


def test_the_distinct_choices_of_a_measure_come_in_the_order_of_the_cells():
    asked = grid(
        factors={"gradient_flow.batch": [4, 2], "norm": ["layernorm", "rmsnorm"]},
        measures=["gradient_flow", "parameters"],
    )
    planned = ablations.plan(asked)
    assert [c.options["batch"] for c in planned.choices("gradient_flow")] == [4, 2]
    assert [choice.name for choice in planned.choices("parameters")] == ["parameters"]
