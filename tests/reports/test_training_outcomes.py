"""How trainings end, and which factors their figures tell apart."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.training.arrangement import Arrangement, arrange
from reports.training.outcomes import (
    STATES,
    learning_rates,
    outcomes,
    rate_name,
    rate_values,
    tally,
)
from tests.reports.simulated import default_run, set_state
from tests.reports.simulated_training import training_run

POST_AT_MOST = {"placement": "post", "training.learning_rate": "0.003"}


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(diverged=[(POST_AT_MOST, 0)], failed=[({"placement": "pre"}, 1)])


def test_every_trial_has_one_end(frames: Frames) -> None:
    missing = (frames.trials["seed"] == 2) & (frames.trials["cell"] == frames.cells["cell"].iloc[0])
    skipped = frames.trials["cell"] == frames.cells["cell"].iloc[1]
    run = set_state(set_state(frames, missing, "missing"), skipped, "skipped", message="because")
    ended = outcomes(run)
    assert len(ended) == len(run.trials) == 72
    assert tally(ended["state"].value_counts()) == (
        "36 trials learnt, 17 stalled, 4 diverged, 11 failed, 1 not run, 3 skipped"
    )
    of_first = ended[ended["cell"] == 0].set_index("seed")["state"].to_dict()
    assert of_first == {0: "learnt", 1: "failed", 2: "not run"}


@pytest.mark.parametrize("state", ["failed", "crashed", "timeout", "done"])
def test_a_trial_without_an_outcome_has_failed(frames: Frames, state: str) -> None:
    here = (frames.trials["cell"] == frames.cells["cell"].iloc[-1]) & (frames.trials["seed"] == 1)
    gone = set_state(set_state(frames, here, "failed"), here, state)
    assert outcomes(gone)["state"].to_list()[-2] == "failed"


def test_losses_are_as_measured_and_diverged_ones_keep_their_first(frames: Frames) -> None:
    ended = outcomes(frames)
    lost = ended[ended["state"] == "diverged"]
    assert lost["final"].isna().all()
    assert lost["initial"].between(5.5, 5.7).all()
    assert ended.loc[ended["state"] == "failed", ["final", "initial"]].isna().to_numpy().all()


def test_a_run_that_trained_nothing_has_no_outcome() -> None:
    assert outcomes(default_run(seeds=1)).empty
    assert learning_rates(default_run(seeds=1)) == []
    assert tally(pd.Series(dtype=int)) == "none"


def test_rates_ascend_whatever_their_order_in_the_grid() -> None:
    rates = ["0.003", "1e-4", "0.001"]
    frames = training_run({"training.learning_rate": rates}, loss=lambda _: 2.7)
    assert learning_rates(frames) == ["1e-4", "0.001", "0.003"]
    named = replace(
        frames,
        cells=frames.cells.replace({"1e-4": "tuned"}),
        factors=frames.factors.replace({"1e-4": "tuned"}),
    )
    assert learning_rates(named) == ["0.003", "tuned", "0.001"]
    assert rate_values(learning_rates(named)) is None


def test_long_rates_are_written_shorter() -> None:
    assert [rate_name(level) for level in ("0.0003", "0.00003", "tuned-by-hand", "")] == [
        "0.0003",
        "3·10⁻⁵",
        "tuned-by-hand",
        "",
    ]


def test_places_go_to_the_most_influential_factors_that_fit() -> None:
    grid = {
        "placement": ["pre", "post"],
        "norm": [f"n{i}" for i in range(5)],
        "bias": ["true", "false"],
        "initializer": ["normal"],
        "training.learning_rate": ["0.001", "0.003"],
    }
    frames = training_run(grid, seeds=1)
    ranking = ["norm", "training.learning_rate", "placement", "initializer", "bias"]
    found = arrange(frames.cells, ranking, {"row": 4, "hue": 8})
    assert found == Arrangement(row="placement", hue="norm", over=("bias",))
    assert found.told == {"row": "placement", "hue": "norm"}
    assert arrange(frames.cells, ranking, {}).over == ("norm", "placement", "bias")


def test_states_are_all_known() -> None:
    assert len(STATES) == len(set(STATES)) == 6
    assert np.isin(outcomes(training_run(seeds=1))["state"], STATES).all()
