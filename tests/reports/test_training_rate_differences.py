"""An effect at the best rates less that at one rate, against the formula of a paired t interval."""

import numpy as np
import pytest
from scipy import stats

from reports.training.compared import compare
from reports.training.rate_differences import ALL_RATES, rate_differences
from tests.reports.simulated_training import Levels, training_run

RATES = ["0.0003", "0.001", "0.003"]
GRID = {"placement": ["pre", "post"], "training.learning_rate": RATES}
LOSS = {"pre": (2.4, 2.6, 2.9), "post": (2.9, 2.45, 3.1)}


def loss(levels: Levels) -> float:
    return LOSS[levels["placement"]][RATES.index(levels["training.learning_rate"])]


def test_differences_are_taken_seed_by_seed() -> None:
    frames = training_run(GRID, seeds=4, loss=loss, noise=0.001, shared=0.3)
    compared = compare(frames)
    assert compared.at_best is not None
    table = rate_differences(compared.data, compared.at_best)
    rows = frames.metrics[frames.metrics["metric"] == "training.final_loss"]
    value = rows.merge(frames.cells, on="cell").pivot(
        index="seed", columns=["placement", "training.learning_rate"], values="value"
    )
    own = value["post", "0.001"] - value["pre", "0.0003"]  # every seed's best rates
    at = value["post"] - value["pre"]
    expected = {rate: own - at[rate] for rate in RATES} | {ALL_RATES: own - at.mean(axis=1)}
    final = table[table["metric"] == "training.final_loss"].set_index("level_2")
    assert final["estimate"].to_dict() == pytest.approx({k: v.mean() for k, v in expected.items()})
    assert (final["n_seeds"] == 4).all()
    assert not table["within_noise"].any()  # all are shown, so that each has the level 5 %
    for rate, difference in expected.items():
        low, high = stats.t.interval(0.95, 3, difference.mean(), stats.sem(difference))
        assert final.loc[rate, ["low", "high"]].to_list() == pytest.approx([low, high])
    assert np.ptp(value.to_numpy(), axis=0).min() > 0.1  # what all of a seed share is not in it


def test_an_effect_that_is_the_same_is_not_apart() -> None:
    """Where both have their best rate at one place that is where they are compared."""
    frames = training_run(
        GRID, seeds=4, noise=0.01, loss=lambda levels: loss({**levels, "placement": "pre"})
    )
    compared = compare(frames)
    assert compared.at_best is not None
    table = rate_differences(compared.data, compared.at_best)
    there = table[table["level_2"] == "0.0003"]
    assert there["unchanged"].all()
    assert there["within_noise"].all()


def test_a_lost_trial_is_in_no_difference_that_needs_it() -> None:
    lost = [({"placement": "post", "training.learning_rate": "0.003"}, 1)]
    frames = training_run(GRID, seeds=4, loss=loss, noise=0.01, diverged=lost)
    compared = compare(frames)
    assert compared.at_best is not None
    table = rate_differences(compared.data, compared.at_best)
    n = table[table["metric"] == "training.final_loss"].set_index("level_2")["n_diverged"]
    assert n.to_dict() == {"0.0003": 0, "0.001": 0, "0.003": 1, ALL_RATES: 1}
