"""Trainings whose steps were too few to tell."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.training.names import FREQUENCY_LOSS, LOSS_CURVE
from reports.training.still_falling import FALLING, FAR, LEVEL, UNKNOWN, still_falling
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
    run = with_curves(0.5, points=29)
    assert (still_falling(run, run.trials) == UNKNOWN).all()
    bare = replace(run, profiles=run.profiles.iloc[:0])
    assert (still_falling(bare, bare.trials) == UNKNOWN).all()
    assert still_falling(run, run.trials.iloc[:0]).shape == (0,)


def test_curves_of_several_lengths_are_each_read_to_their_end() -> None:
    run = with_curves(0.2)
    last = run.cells["cell"].iloc[1]
    cut = (
        (run.profiles["cell"] == last) & (run.profiles["seed"] == 0) & (run.profiles["step"] > 120)
    )
    shorter = replace(run, profiles=run.profiles[~cut])
    assert still_falling(shorter, shorter.trials).tolist() == [LEVEL] * 3 + [FALLING] * 3
    flat = run.profiles["value"].where(run.profiles["step"] < 126, 3.5)  # of what was cut, too
    later = replace(run, profiles=run.profiles.assign(value=flat)[~cut])
    assert still_falling(later, later.trials).tolist() == [LEVEL] * 3 + [FALLING, LEVEL, LEVEL]


def test_what_fell_and_then_stayed_is_level() -> None:
    steps = np.arange(100)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        run = with_curves(0.0, points=100)
        values = 3.3 + 2 * np.clip(75 - steps, 0, None) / 75 + rng.normal(0, 0.05, 100)
        n = len(run.trials)
        run = replace(run, profiles=run.profiles.assign(value=np.tile(values, n)))
        found.append(still_falling(run, run.trials.head(1))[0] == FALLING)
    assert np.mean(found) < 0.3  # nothing fell in the last quarter


def test_what_is_level_far_from_where_it_would_stall_is_told_apart() -> None:
    unknown = with_curves(0.0)  # level at 4
    values = unknown.profiles["value"].where(unknown.profiles["step"] > 0, 5.6)
    unknown = replace(unknown, profiles=unknown.profiles.assign(value=values))
    assert (still_falling(unknown, unknown.trials) == LEVEL).all()
    costs = unknown.trials[["cell", "seed"]].assign(metric=FREQUENCY_LOSS, value=3.26)
    run = replace(unknown, metrics=pd.concat([unknown.metrics, costs], ignore_index=True),
                  metric_info=with_metric(unknown, FREQUENCY_LOSS))  # fmt: skip
    assert (still_falling(run, run.trials) == FAR).all()
    assert "; all of these ended, no longer falling, far above what knowing " in claim(run)
    near = replace(run, profiles=run.profiles.assign(value=values.where(values > 5, values - 0.6)))
    assert (still_falling(near, near.trials) == LEVEL).all()


def with_metric(run: Frames, name: str) -> pd.DataFrame:
    """What metrics are, with one more that is as the first of them."""
    info = run.metric_info
    return pd.concat([info, info.head(1).assign(metric=name, primary=False)], ignore_index=True)


def test_a_fall_that_is_next_to_nothing_is_none() -> None:
    run = with_curves(0.002, noise=0.0001)
    values = run.profiles["value"].where(run.profiles["step"] > 0, 5.5)
    run = replace(run, profiles=run.profiles.assign(value=values))
    assert (still_falling(run, run.trials) == LEVEL).all()


def test_noise_is_seldom_taken_for_a_fall() -> None:
    rng = np.random.default_rng(0)
    run = with_curves(0.0)
    n = 500
    trials = pd.DataFrame({"cell": "a", "seed": range(n)})
    curves = pd.DataFrame(
        {
            "cell": "a",
            "seed": np.repeat(np.arange(n), 50),
            "profile": LOSS_CURVE,
            "axis": "step",
            "position": 0,
            "step": np.tile(np.arange(50), n),
            "value": 3.26 + rng.normal(0, 0.05, 50 * n),
        }
    )
    fake = replace(run, cells=run.cells.iloc[:0], trials=run.trials.iloc[:0],
                   metrics=run.metrics.iloc[:0], profiles=run.profiles.iloc[:0])  # fmt: skip
    object.__setattr__(fake, "profiles", curves)
    assert (still_falling(fake, trials) == FALLING).mean() < 0.02


def test_that_it_fell_is_said_where_trials_stalled() -> None:
    found = survival_finding(with_curves(0.1))
    assert found is not None
    assert found.claim.startswith(
        "training: 6 trials stalled; stalled: every trial; the loss of 3 of these was still "
        "falling when they ended, all in the cell placement=post; "
    )
    assert "falling" not in claim(with_curves(0.0))
    assert "; all of these had too few steps to tell whether their loss was still falling; " in (
        claim(with_curves(0.5, points=20))
    )


def claim(run: Frames) -> str:
    found = survival_finding(run)
    assert found is not None
    return found.claim
