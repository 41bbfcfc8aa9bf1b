"""Trainings whose steps were too few to tell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.training.names import LOSS_CURVE
from reports.training.still_falling import still_falling
from reports.training.survival import survival_finding
from tests.reports.simulated_training import training_run

GRID = {"placement": ["pre", "post"]}


def with_curves(falls: float, points: int = 60, noise: float = 0.02) -> Frames:
    """A run in which all trials stall; that of post falls by so much from fifth to fifth."""
    run = training_run(GRID, loss=lambda _: 3.261)
    rng = np.random.default_rng(3)
    of_cell = dict(zip(run.cells["cell"], run.cells["placement"], strict=True))
    rows = []
    for cell, seed in run.trials[["cell", "seed"]].itertuples(index=False):
        slope = 5 * falls / points * (of_cell[cell] == "post")
        values = 4 - slope * np.arange(points) + rng.normal(0, noise, points)
        rows += [(cell, seed, LOSS_CURVE, "step", 0, 3 * k, v) for k, v in enumerate(values)]
    return replace(run, profiles=pd.DataFrame(rows, columns=run.profiles.columns))


@pytest.mark.parametrize(("falls", "expected"), [(0.1, [0, 1]), (0.0, [0, 0]), (-0.1, [0, 0])])
def test_only_a_loss_that_falls_is_said_to(falls: float, expected: list[int]) -> None:
    run = with_curves(falls)
    trials = run.trials.assign(falls=still_falling(run, run.trials))
    by_cell = trials.groupby("cell")["falls"].mean()
    assert [by_cell[cell] for cell in run.cells["cell"]] == expected


def test_what_is_too_short_to_tell_is_not_said_to() -> None:
    run = with_curves(0.5, points=14)
    assert not still_falling(run, run.trials).any()
    bare = replace(run, profiles=run.profiles.iloc[:0])
    assert not still_falling(bare, bare.trials).any()
    assert still_falling(run, run.trials.iloc[:0]).shape == (0,)


def test_curves_of_several_lengths_are_each_read_to_their_end() -> None:
    run = with_curves(0.2)
    last = run.cells["cell"].iloc[1]
    cut = (run.profiles["cell"] == last) & (run.profiles["seed"] == 0) & (run.profiles["step"] > 90)
    shorter = replace(run, profiles=run.profiles[~cut])
    assert still_falling(shorter, shorter.trials).tolist() == [False] * 3 + [True] * 3
    flat = run.profiles["value"].where(run.profiles["step"] < 100, 3.5)  # of what was cut, too
    later = replace(run, profiles=run.profiles.assign(value=flat)[~cut])
    assert still_falling(later, later.trials).tolist() == [False] * 3 + [True, False, False]


def test_noise_is_seldom_taken_for_a_fall() -> None:
    rng = np.random.default_rng(0)
    run = with_curves(0.0)
    n = 500
    trials = pd.DataFrame({"cell": "a", "seed": range(n)})
    curves = pd.DataFrame(
        {
            "cell": "a",
            "seed": np.repeat(np.arange(n), 30),
            "profile": LOSS_CURVE,
            "axis": "step",
            "position": 0,
            "step": np.tile(np.arange(30), n),
            "value": 3.26 + rng.normal(0, 0.05, 30 * n),
        }
    )
    fake = replace(run, cells=run.cells.iloc[:0], trials=run.trials.iloc[:0],
                   metrics=run.metrics.iloc[:0], profiles=run.profiles.iloc[:0])  # fmt: skip
    object.__setattr__(fake, "profiles", curves)
    assert still_falling(fake, trials).mean() < 0.02


def test_that_it_fell_is_said_where_trials_stalled() -> None:
    found = survival_finding(with_curves(0.1))
    assert found is not None
    assert found.claim.startswith(
        "training: 6 trials stalled; stalled: every trial, though the loss of 3 of them was still "
        "falling at the last step; "
    )
    assert "falling" not in survival_finding(with_curves(0.0)).claim
