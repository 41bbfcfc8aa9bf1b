"""What a curve comes to, against figures worked out by hand."""

import math

import pytest
import torch

from ablations.training.evaluating import Evaluation, Probe
from ablations.training.loop import ROWS, History
from ablations.training.summary import metrics, moving_mean, profiles, spikes, state


class Text:
    """What a material says of itself; a text with entropies 3 and 2 nats."""

    frequency_loss, known_loss, learnt_margin = 3.0, 2.0, 0.05
    scored_by_accuracy, chance = False, 0.1


class Task(Text):
    frequency_loss, known_loss, learnt_margin = math.log(8), 0.0, 0.05 * 7 / 8
    scored_by_accuracy, chance = True, 1 / 8


def history(losses, *, frequency=3.0, accuracy=0.0, **rows):
    """A training with those losses, evaluated at its end."""
    steps = torch.ones(len(ROWS), len(losses), dtype=torch.float64)
    steps[ROWS.index("loss")] = torch.tensor(losses, dtype=torch.float64)
    steps[ROWS.index("frequency_loss")] = frequency
    for name, values in rows.items():
        steps[ROWS.index(name)] = torch.tensor(values, dtype=torch.float64)
    end = Evaluation(loss=losses[-1] + 0.5, accuracy=accuracy, largest_logit=2.0)
    return History(steps=steps, evaluations={len(losses): end}, seconds=2.0, timed=len(losses))


def found(of, material=Text, target_loss=None):
    return metrics(of, material(), target_loss=target_loss, tokens=100)


def test_the_last_tenth_says_whether_a_text_was_learnt():
    falling = [3.0] * 18
    assert state(history([*falling, 2.94, 2.94]), Text()) == "learnt"
    assert state(history([*falling, 2.96, 2.96]), Text()) == "stalled"
    assert state(history([*falling, 2.90, 2.96]), Text()) == "learnt"
    # What counts is what the same targets cost, not what the text costs on average.
    assert state(history([*falling, 2.96, 2.96], frequency=3.02), Text()) == "learnt"
    assert state(history([1.0] * 18 + [2.96, 2.96]), Text()) == "stalled"


def test_accuracy_beyond_chance_says_whether_a_task_was_learnt():
    chance = 1 / 8
    assert state(history([2.0] * 20, accuracy=chance + 0.05), Task()) == "learnt"
    assert state(history([2.0] * 20, accuracy=chance + 0.04), Task()) == "stalled"


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("row", ["loss", "gradient_norm", "update"])
def test_anything_not_finite_is_divergence_and_is_never_learning(row, bad):
    of = history([2.0] * 20, **{row: [1.0] * 10 + [bad] + [1.0] * 9})
    assert state(of, Text()) == "diverged"
    of = found(of)
    assert (of["learnt"], of["stalled"], of["diverged"]) == (0.0, 0.0, 1.0)
    assert math.isnan(of["final_loss"])
    assert math.isnan(of["held_out_loss"])
    assert math.isinf(of["steps_to_loss"])
    assert math.isfinite(of["initial_loss"]) or row == "loss"


def test_metrics_of_a_curve():
    losses = [4.0, 3.0, 2.6, 2.4, 2.2, 2.0, 1.0, 1.0, 3.0, 1.5]
    of = found(history(losses, gradient_norm=[1, 9, 2, 2, 2, 2, 2, 2, 2, 2]))
    assert of["initial_loss"] == 4.0
    assert of["final_loss"] == 1.5
    assert of["held_out_loss"] == 2.0
    assert of["best_loss"] == 1.0
    assert of["mean_loss"] == pytest.approx(2.27)
    assert of["steps_to_loss"] == 4.0  # down to halfway between 3 and 2
    assert of["largest_gradient_norm"] == 9.0
    assert of["tokens_per_second"] == 500.0
    assert "accuracy" not in of
    assert found(history(losses), target_loss=2.0)["steps_to_loss"] == 6.0
    assert found(history(losses), target_loss=0.5)["steps_to_loss"] == math.inf
    assert found(history(losses, accuracy=0.75), Task)["accuracy"] == 0.75


def test_the_mean_is_over_a_tenth_of_the_steps():
    of = found(history([5.0] * 10 + [3.0] * 8 + [2.0, 1.0]))
    assert (of["final_loss"], of["best_loss"]) == (1.5, 1.5)
    assert of["steps_to_loss"] == 19.0  # after the first two in a row with a mean of 2.5 or less


def test_moving_means():
    assert moving_mean([1.0, 2.0, 3.0, 7.0], 2) == [1.5, 2.5, 5.0]
    assert moving_mean([1.0, 3.0], 2) == [2.0]


def test_a_jump_is_a_spike_and_what_follows_belongs_to_it():
    calm = [2.0 + 0.01 * (-1) ** step for step in range(100)]
    assert spikes(calm) == 0
    assert spikes([5.0 * 0.97**step for step in range(100)]) == 0
    jumped = list(calm)
    jumped[40:43] = [4.0, 4.5, 4.0]
    assert spikes(jumped) == 1
    jumped[80] = 6.0
    assert spikes(jumped) == 2
    assert spikes([1.0, 2.0]) == 0


def test_a_diverged_curve_ends_where_it_is_not_finite():
    of = history([3.0, 2.0, 1.0, math.nan, 5.0])
    curve = profiles(of, accuracy=False)["loss"]
    assert (curve.axis, curve.steps, curve.values) == ("step", (0, 1, 2), (3.0, 2.0, 1.0))
    of = history([math.nan, 2.0])
    assert "loss" not in profiles(of, accuracy=False)


def test_a_long_curve_is_told_by_means():
    curve = profiles(history([float(step) for step in range(1000)]), accuracy=False)["loss"]
    assert len(curve.values) == 200
    assert curve.steps[:3] == (0, 5, 10)
    assert curve.values[:3] == (2.0, 7.0, 12.0)


def test_probes_are_profiles_along_depth_at_their_steps():
    of = history([3.0] * 10)
    of.probes = {
        10: Probe(along_depth={"sensitivity": {0: 2.0, 1: 1.0}}, sensitivity_ratio=2.0),
        0: Probe(along_depth={"sensitivity": {0: 4.0, 1: 1.0}}, sensitivity_ratio=4.0),
    }
    rows = profiles(of, accuracy=True)
    row = rows["sensitivity"]
    assert (row.axis, row.steps, row.positions) == ("depth", (0, 0, 10, 10), (0, 1, 0, 1))
    assert row.values == (4.0, 1.0, 2.0, 1.0)
    ratio = rows["sensitivity_ratio"]
    assert (ratio.axis, ratio.steps, ratio.values) == ("step", (0, 10), (4.0, 2.0))
    assert rows["held_out_accuracy"].steps == (10,)
    assert rows["largest_attention_logit"].values == (2.0,)
