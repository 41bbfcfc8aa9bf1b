"""Profiles as arrays: what is drawn of a run, and why the rest is not."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.curves import Curve, curves
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_measures import measured_run
from tests.reports.simulated_training import training_run

SENSITIVITY = "gradient_flow.sensitivity"


@pytest.fixture(scope="module")
def frames() -> Frames:
    return default_run(seeds=2)


def counts(curve: Curve) -> tuple[int, int, int, int]:
    return curve.n_trials, curve.n_absent, curve.n_cancelled, curve.n_lost


def test_values_are_those_of_the_frame_in_whatever_order(frames: Frames) -> None:
    shuffled = replace(frames, profiles=frames.profiles.sample(frac=1, random_state=0))
    curve = curves(shuffled)[SENSITIVITY]
    rows = frames.profiles[frames.profiles["profile"] == SENSITIVITY]
    assert counts(curve) == (144, 0, 0, 0)
    assert curve.axis == "depth"
    assert curve.x.tolist() == list(range(12)) * 144
    assert frames.cells["cell"].iloc[curve.cell].tolist() == rows["cell"].tolist()
    assert curve.value == pytest.approx(np.log(rows["value"]))


def test_profiles_come_as_declared(frames: Frames) -> None:
    info = frames.metric_info
    assert list(curves(frames)) == info.loc[info["form"] == "profile", "metric"].to_list()


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_trial_is_in_whole_or_not_at_all(frames: Frames, value: float) -> None:
    profiles = frames.profiles.copy()
    first = profiles.index[profiles["profile"] == SENSITIVITY][5]
    profiles.loc[first, "value"] = value
    curve = curves(replace(frames, profiles=profiles))[SENSITIVITY]
    assert counts(curve) == (143, 0, 0, 1)
    assert len(curve.value) == 143 * 12


def test_zero_is_a_value_on_a_linear_scale(frames: Frames) -> None:
    profiles = frames.profiles.copy()
    profiles.loc[profiles["profile"] == "parameters.per_block", "value"] = 0.0
    curve = curves(replace(frames, profiles=profiles))["parameters.per_block"]
    assert counts(curve) == (144, 0, 0, 0)


def test_states_absence_and_cancelled_probes_are_told_apart(frames: Frames) -> None:
    trials = frames.trials
    flow = trials["measure"] == "gradient_flow"
    cell = frames.cells["cell"]
    run = set_state(frames, flow & (trials["cell"] == cell.iloc[0]), "diverged")
    run = set_state(run, flow & (trials["cell"] == cell.iloc[1]), "failed")
    marked = flow & (trials["cell"] == cell.iloc[2])
    run = set_state(run, marked, "done", marks="vanishing,cancelled_probe")
    gone = (run.profiles["cell"] == cell.iloc[3]) & (run.profiles["profile"] == SENSITIVITY)
    run = replace(run, profiles=run.profiles[~gone])
    assert counts(curves(run)[SENSITIVITY]) == (136, 2, 2, 4)
    assert counts(curves(run)["gradient_flow.stream_rms"]) == (138, 0, 2, 4)


def test_a_profile_that_no_trial_changes_along_the_axis(frames: Frames) -> None:
    found = {name for name, curve in curves(frames).items() if curve.same_everywhere}
    assert found == {"parameters.per_block"}  # which differs between cells


def at_steps(frames: Frames, steps: list[int]) -> Frames:
    """The same run with sensitivity taken at training steps, each time ten times as large."""
    rows = frames.profiles[frames.profiles["profile"] == SENSITIVITY]
    taken = [
        rows.assign(step=step, value=rows["value"] * 10**place) for place, step in enumerate(steps)
    ]
    return replace(frames, profiles=pd.concat(taken, ignore_index=True))


def test_values_of_different_training_steps_are_never_mixed(frames: Frames) -> None:
    run = at_steps(frames, [0, 50, 1500])
    shuffled = replace(run, profiles=run.profiles.sample(frac=1, random_state=0))
    found = {name: curve for name, curve in curves(shuffled).items() if curve.n_trials}
    assert list(found) == [f"{SENSITIVITY} at step {step}" for step in (0, 50, 1500)]
    before = curves(frames)[SENSITIVITY]
    assert before.at_step is None
    for place, (step, curve) in enumerate(zip((0, 50, 1500), found.values(), strict=True)):
        assert (curve.at_step, curve.axis, curve.about.metric) == (step, "depth", SENSITIVITY)
        assert counts(curve) == (144, 0, 0, 0)
        assert curve.x.tolist() == list(range(12)) * 144
        assert curve.value == pytest.approx(before.value + place * np.log(10))


def test_one_training_step_is_no_part_of_a_name(frames: Frames) -> None:
    found = curves(at_steps(frames, [50]))
    assert list(found) == list(curves(frames))
    assert counts(found[SENSITIVITY]) == (144, 0, 0, 0)


def test_a_trial_without_a_step_or_with_a_bad_value_is_missing_there_alone(frames: Frames) -> None:
    run = at_steps(frames, [0, 50])
    profiles, cell = run.profiles.copy(), frames.cells["cell"]
    late = profiles["step"] == 50
    profiles.loc[late & (profiles["cell"] == cell.iloc[0]), "value"] = np.nan
    profiles = profiles[~(late & (profiles["cell"] == cell.iloc[1]))]
    found = curves(replace(run, profiles=profiles))
    assert counts(found[f"{SENSITIVITY} at step 0"]) == (144, 0, 0, 0)
    assert counts(found[f"{SENSITIVITY} at step 50"]) == (140, 2, 0, 2)


def test_diverged_trials_are_lost_to_profiles_along_steps() -> None:
    lost = [({"placement": "post", "training.learning_rate": "0.003"}, 0)]
    found = curves(training_run(diverged=lost))
    assert counts(found["training.gradient_norm"]) == (68, 0, 0, 4)
    assert found["training.gradient_norm"].axis == "step"


def test_a_profile_without_values(frames: Frames) -> None:
    curve = curves(replace(frames, profiles=frames.profiles.iloc[:0]))[SENSITIVITY]
    assert counts(curve) == (0, 144, 0, 0)
    assert curve.same_everywhere
    assert curve.axis == ""


def test_what_applies_to_some_cells_alone() -> None:
    found = curves(measured_run({"activation": ["gelu", "swiglu"]}, seeds=2))
    assert counts(found["gradient_flow.gate_gradient_norm"]) == (2, 2, 0, 0)
    assert counts(found["gradient_flow.up_gradient_norm"]) == (4, 0, 0, 0)
