"""A trial in a worker: each measure has a state of its own, and what comes back is plain."""

import dataclasses
import math
import pickle
import random

import pytest
import torch

from ablations.builtin import GRADIENT_FLOW, PARAMETERS
from ablations.results import ProfileValues
from ablations.streams import stream_seed
from ablations.trial import (
    Measurement,
    NotApplicable,
    PlannedMeasure,
    Trial,
    TrialContext,
    measure_trial,
)
from registry.spec import Choice
from tests.ablations.decoders import small


class Fine:
    def measure(self, context):
        return Measurement(metrics={"depth": float(context.architecture.depth)}, marks=("seen",))


class Raising:
    def measure(self, context):
        raise RuntimeError("no such thing")


class Inapplicable:
    def measure(self, context):
        raise NotApplicable("attention 'mean' has no weights")


class Rolling:
    def measure(self, context):
        return Measurement(metrics={"fine": random.random()})


class RollingToo(Rolling):
    pass


class Undeclared:
    def measure(self, context):
        return Measurement(metrics={"fine": 1.0, "surprise": 2.0})


class Wrong:
    def measure(self, context):
        return {"fine": 1.0}


class Diverging:
    def __init__(self, *, value: float) -> None:
        self.value = value

    def measure(self, context):
        profile = ProfileValues.along("depth", [1.0, self.value])
        return Measurement(metrics={"fine": 1.0}, profiles={"row": profile})


def planned(cls, **options):
    choice = Choice(name=cls.__name__.lower(), target=f"{__name__}:{cls.__name__}", options=options)
    declared = frozenset({"depth", "fine", "row"})
    return PlannedMeasure(choice=choice, identity="0" * 16, declared=declared)


def trial(*measures, **model):
    return Trial(cell="c" * 16, seed=7, architecture=small(**model), measures=measures)


def test_each_measure_ends_in_a_state_of_its_own():
    result = measure_trial(
        trial(planned(Raising), planned(Fine), planned(Inapplicable), planned(Diverging, value=2.0))
    )
    assert [(m.measure, m.state, m.message) for m in result.measures] == [
        ("raising", "failed", "RuntimeError: no such thing"),
        ("fine", "done", ""),
        ("inapplicable", "skipped", "not applicable: attention 'mean' has no weights"),
        ("diverging", "done", ""),
    ]
    assert "raise RuntimeError" in result.measures[0].traceback
    assert result.measures[1].metrics == {"fine.depth": 3.0}
    assert result.measures[1].marks == ("seen",)
    assert result.measures[3].profiles["diverging.row"].values == (1.0, 2.0)
    assert (result.cell, result.seed) == ("c" * 16, 7)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (
            Undeclared,
            "LookupError: measure 'undeclared' returned surprise, which its MeasureSpec does not "
            "declare",
        ),
        (Wrong, "TypeError: measure 'wrong' must return a Measurement, not dict"),
    ],
)
def test_what_the_report_could_not_show_is_a_failure(cls, message):
    (measured,) = measure_trial(trial(planned(cls))).measures
    assert (measured.state, measured.message) == ("failed", message)
    assert measured.metrics == {}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_a_result_of_its_own(value):
    (measured,) = measure_trial(trial(planned(Diverging, value=value))).measures
    assert (measured.state, measured.message) == (
        "diverged",
        "not finite: diverging.row",
    )
    kept = measured.profiles["diverging.row"].values[1]
    assert kept == value or (math.isnan(kept) and math.isnan(value))


def built_in():
    return [
        PlannedMeasure(
            choice=Choice(name=spec.name, target=spec.target, options=options),
            identity="",
            declared=spec.declared,
        )
        for spec, options in [(PARAMETERS, {}), (GRADIENT_FLOW, {"batch": 2, "length": None})]
    ]


class Counting:
    """A static measure that tells how often it was asked."""

    asked = 0

    def measure(self, context):
        Counting.asked += 1
        return Measurement(metrics={"fine": float(Counting.asked)})


def test_a_static_measure_is_taken_once_for_all_seeds_of_a_cell():
    shapes = dataclasses.replace(planned(Counting), static=True, identity="shapes of a cell")
    other = dataclasses.replace(shapes, identity="shapes of another")
    told = [
        measure_trial(dataclasses.replace(trial(one), seed=seed)).measures[0].metrics
        for one in (shapes, other)
        for seed in (1, 2, 3)
    ]
    assert told == [{"counting.fine": n} for n in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0)]
    running = dataclasses.replace(shapes, static=False)
    assert measure_trial(trial(running)).measures[0].metrics == {"counting.fine": 3.0}


def test_no_more_is_kept_of_static_measures_than_has_room(monkeypatch):
    monkeypatch.setattr("ablations.trial.MOST_STATIC", 2)
    monkeypatch.setattr("ablations.trial._STATIC", {})
    monkeypatch.setattr(Counting, "asked", 0)
    for name in ("a", "b", "c", "c", "b", "a"):
        measure_trial(
            trial(dataclasses.replace(planned(Counting), static=True, identity=f"room {name}"))
        )
    assert Counting.asked == 4


class Beside:
    def measure(self, context):
        own, other = context.fresh_decoder(), context.baseline_decoder()
        depths = own.architecture.depth, other.architecture.depth
        return Measurement(metrics={"depth": float(sum(d * 10**i for i, d in enumerate(depths)))})


def test_the_baseline_cell_can_be_built_beside_the_cell():
    asked = dataclasses.replace(trial(planned(Beside)), baseline=small(depth=5))
    assert pickle.loads(pickle.dumps(asked)) == asked
    assert measure_trial(asked).measures[0].metrics == {"beside.depth": 53.0}
    built = TrialContext(asked).baseline_decoder().state_dict()
    alone = TrialContext(dataclasses.replace(asked, architecture=small(depth=5)))
    for name, tensor in alone.fresh_decoder().state_dict().items():
        assert torch.equal(built[name], tensor), name


def test_a_baseline_is_there_for_those_who_declare_it():
    (measured,) = measure_trial(trial(planned(Beside))).measures
    assert (measured.state, measured.message) == (
        "failed",
        "LookupError: there is no baseline here: a measure that builds it is declared with "
        "against_baseline=True",
    )
    unbuildable = small(attention={"gqa": {"n_kv_heads": 3}})
    asked = dataclasses.replace(trial(planned(Beside)), baseline=unbuildable)
    (measured,) = measure_trial(asked).measures
    assert (measured.state, measured.message) == (
        "skipped",
        "not applicable: the baseline cell cannot be built: n_kv_heads must divide n_heads: got 3 "
        "and 4",
    )


def test_trials_and_results_travel():
    asked = trial(planned(Fine), attention={"gqa": {"n_kv_heads": 2}}, activation="swiglu")
    assert pickle.loads(pickle.dumps(asked)) == asked
    result = measure_trial(asked)
    back = pickle.loads(pickle.dumps(result))
    assert back == result


@pytest.mark.parametrize(
    ("model", "states"),
    [
        ({"initializer": {"normal": {"std": 1e30}}}, {"done", "diverged"}),
        ({}, {"done"}),
    ],
)
def test_the_built_in_measures_of_a_trial(model, states):
    result = measure_trial(trial(*built_in(), **model))
    assert {m.state for m in result.measures} == states
    assert result.measures[0].state == "done"


def test_a_measure_that_rolls_dice_does_not_depend_on_the_others():
    both = measure_trial(trial(planned(Rolling), planned(RollingToo))).measures
    (alone,) = measure_trial(trial(planned(RollingToo))).measures
    assert alone.metrics == both[1].metrics
    assert both[0].metrics["rolling.fine"] != both[1].metrics["rollingtoo.fine"]
    state = random.getstate()
    measure_trial(trial(planned(Rolling)))
    assert random.getstate() == state


def test_a_stream_of_a_seed_is_drawn_from_as_if_it_were_the_seed():
    asked = dataclasses.replace(trial(*built_in(), planned(Rolling)), stream="placebo")
    other = dataclasses.replace(asked, stream="", seed=stream_seed(7, "placebo"))
    assert TrialContext(asked).seed == TrialContext(other).seed == other.seed != 7
    found, expected = measure_trial(asked), measure_trial(other)
    assert found.seed == 7
    assert figures(found) == figures(expected)
    plain = figures(measure_trial(dataclasses.replace(asked, stream="")))
    assert plain["parameters.total"] == figures(found)["parameters.total"]
    assert plain["rolling.fine"] != figures(found)["rolling.fine"]
    assert plain["gradient_flow.loss"] != figures(found)["gradient_flow.loss"]


def figures(result):
    return {name: value for m in result.measures for name, value in m.metrics.items()}
