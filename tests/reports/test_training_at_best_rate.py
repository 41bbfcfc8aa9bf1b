"""The run at its best rates: which values it takes, and what became of its trials."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reports import Frames
from reports.effects import comparisons
from reports.panel import panel
from reports.training.at_best_rate import frames_at_best_rate
from reports.training.best_rates import best_rates
from tests.reports.simulated_training import Levels, training_run

RATES = ["0.0003", "0.001", "0.003"]
GRID = {"placement": ["pre", "post"], "training.learning_rate": RATES}
AT = "training.final_loss_at_best_rate"


def at_best(frames: Frames) -> Frames:
    data = panel(frames)
    rates = best_rates(frames, data)
    assert rates is not None
    return frames_at_best_rate(frames, data, rates)


def planted(best: dict[str, str], lost: float = 0.5) -> dict[str, Any]:
    """Losses of 2.5, and ``lost`` more at every rate but the best of each placement."""

    def loss(levels: Levels) -> float:
        return 2.5 + lost * (levels["training.learning_rate"] != best[levels["placement"]])

    return {"loss": loss, "noise": 0.01}


def value(frames: Frames, metric: str, cell: int, seed: int) -> float:
    rows = frames.metrics
    here = (rows["metric"] == metric) & (rows["seed"] == seed)
    return float(
        rows.loc[here & (rows["cell"] == frames.cells["cell"].iloc[cell]), "value"].iloc[0]
    )


def states(frames: Frames, cell: int, measure: str) -> list[str]:
    here = frames.trials["cell"] == frames.cells["cell"].iloc[cell]
    return list(frames.trials.loc[here & (frames.trials["measure"] == measure), "state"])


def test_values_are_those_of_the_chosen_trials() -> None:
    frames = training_run(GRID, **planted({"pre": "0.003", "post": "0.0003"}), accuracy=True)
    made = at_best(frames)
    assert made.cells["label"].to_list() == ["placement=pre", "placement=post"]
    assert made.factors["factor"].to_list() == ["placement"] * 2
    for setting, cell in ((0, 2), (1, 3)):
        for seed in range(3):
            for metric in ("training.final_loss", "training.held_out_loss", "training.accuracy"):
                taken = value(made, f"{metric}_at_best_rate", setting, seed)
                assert taken == value(frames, metric, cell, seed)
            rate = value(made, "training.best_learning_rate", setting, seed)
            assert rate == (0.003 if setting == 0 else 0.0003)
            assert value(made, "training.learning_rate_sensitivity", setting, seed) == (
                pytest.approx(1 / 3, abs=0.05)
            )
    info = made.metric_info.set_index("metric")
    assert info["primary"].to_dict() == {
        "training.final_loss_at_best_rate": True,
        "training.held_out_loss_at_best_rate": True,
        "training.accuracy_at_best_rate": True,
        "training.best_learning_rate": False,
        "training.learning_rate_sensitivity": False,
    }
    assert info.loc[AT, "summary"] == "At its own best learning rate: About final_loss."
    assert info.loc[AT, "convention"] == (
        "for each seed a setting's rate is chosen by the training.final_loss of the other seeds"
    )


def test_a_level_that_differs_by_its_best_rate_alone_has_no_effect_at_it() -> None:
    frames = training_run(GRID, seeds=5, **planted({"pre": "0.003", "post": "0.0003"}))
    row = comparisons(at_best(frames)).set_index("metric").loc[AT]
    assert row["within_noise"]
    assert abs(row["estimate"]) < 0.02


def test_a_trial_that_diverges_at_the_rate_of_the_others_is_a_loss() -> None:
    best = planted({"pre": "0.001", "post": "0.001"})
    lost = [({"placement": "post", "training.learning_rate": "0.001"}, 1)]
    frames = training_run(GRID, seeds=3, diverged=lost, **best)
    made = at_best(frames)
    # For seed 1 the others choose the rate at which it diverged, for those seed 1 speaks against.
    assert states(made, 1, "training at its best rate") == ["done", "diverged", "done"]
    assert states(made, 1, "training over rates") == ["done"] * 3
    row = comparisons(made).set_index("metric").loc[AT]
    assert row["n_diverged"] == 1
    assert value(made, "training.best_learning_rate", 1, 1) == 0.001
    # The rate that was chosen is known all the same.
    rates = comparisons(made).set_index("metric").loc["training.best_learning_rate"]
    assert rates["n_dropped"] == 0


def test_all_rates_diverging_is_divergence_not_insensitivity() -> None:
    frames = training_run(GRID, diverged=[({"placement": "post"}, seed) for seed in range(3)])
    made = at_best(frames)
    assert states(made, 1, "training at its best rate") == ["diverged"] * 3
    assert states(made, 1, "training over rates") == ["diverged"] * 3
    table = comparisons(made).set_index("metric")
    assert table.loc["training.learning_rate_sensitivity", "n_diverged"] == 3
    assert table.loc[AT, "win_rate"] == 0


def test_a_failed_trial_is_one_where_its_value_was_wanted() -> None:
    best = planted({"pre": "0.001", "post": "0.001"})
    elsewhere = training_run(
        GRID, failed=[({"placement": "post", "training.learning_rate": "0.003"}, 1)], **best
    )
    made = at_best(elsewhere)
    assert states(made, 1, "training at its best rate") == ["done"] * 3
    assert states(made, 1, "training over rates") == ["done", "failed", "done"]
    there = training_run(
        GRID, failed=[({"placement": "post", "training.learning_rate": "0.001"}, 1)], **best
    )
    assert states(at_best(there), 1, "training at its best rate") == ["done", "failed", "done"]
    # Without a seed that has every rate nothing can be chosen.
    everywhere = training_run(
        GRID,
        failed=[({"placement": "post", "training.learning_rate": "0.003"}, s) for s in range(3)],
        **best,
    )
    made = at_best(everywhere)
    assert states(made, 1, "training at its best rate") == ["failed"] * 3
    assert not (made.metrics["cell"] == made.cells["cell"].iloc[1]).any()


@pytest.mark.parametrize(("state", "expected"), [("missing", "missing"), ("skipped", "skipped")])
def test_what_is_not_there_is_no_loss(state: str, expected: str) -> None:
    frames = training_run({**GRID, "placement": ["pre", "post", "sandwich"]})
    gone = frames.trials["cell"] == frames.cells["cell"].iloc[5]
    trials = frames.trials.assign(state=frames.trials["state"].where(~gone, state))
    kept = frames.metrics["cell"] != frames.cells["cell"].iloc[5]
    made = at_best(replace(frames, trials=trials, metrics=frames.metrics[kept]))
    assert states(made, 1, "training at its best rate") == [expected] * 3
    row = comparisons(made).set_index(["level", "metric"]).loc[("post", AT)]
    assert (row["n_dropped"], row["n_failed"] + row["n_diverged"] + row["n_no_value"]) == (3, 0)


def test_marks_of_components_come_along() -> None:
    frames = training_run(GRID)
    last = frames.trials["cell"].isin(frames.cells["cell"].iloc[3:])
    marked = replace(frames, trials=frames.trials.assign(marks=np.where(last, "leaks", "")))
    made = at_best(marked)
    assert made.trials["marks"].to_list() == 2 * ([""] * 3 + ["leaks"] * 3)


def test_one_seed_is_told_to_be_optimistic() -> None:
    info = at_best(training_run(GRID, seeds=1)).metric_info
    assert info["convention"].iloc[0] == (
        "for each seed a setting's rate is chosen by the training.final_loss of that seed itself, "
        "which flatters"
    )


def test_a_run_that_varies_the_rate_alone_is_one_setting() -> None:
    made = at_best(training_run({"training.learning_rate": RATES}))
    assert made.cells["label"].to_list() == ["every cell"]
    assert made.factors.empty
    assert comparisons(made).empty
