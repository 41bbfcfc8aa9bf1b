"""An effect that some pairs do not have at all depends on what sets them apart."""

import re

import numpy as np
import pandas as pd
import pytest

from reports import Frames, state_findings
from reports.effects import comparisons
from reports.intervals import ALPHA
from reports.plots.effects import effects_table
from reports.still import set_apart, still_pairs
from tests.reports.simulated import make_frames

NORMS = {"norm": ["layernorm", "x", "y"], "placement": ["pre", "post"]}
SEEDS = np.random.default_rng(2).normal(0, 0.1, size=(6, 3))


def run(in_layernorm: list[float]) -> Frames:
    """Post does so much in each seed under the first norm, and nothing at all under the others."""
    values = 1.0 + SEEDS
    values[1::2] = values[::2]
    values[1] *= 1.0 + np.array(in_layernorm)
    return make_frames(NORMS, {"flow": values}, scale="log")


def post(frames: Frames) -> pd.Series:
    table = comparisons(frames)
    return table[(table["factor"] == "placement")].iloc[0]


def texts(frames: Frames) -> list[str]:
    found = [f.text for f in state_findings(frames) if f.factor == "placement"]
    return [text.replace("\u00a0", " ").replace("\u2212", "-") for text in found]


STEADY = [-0.042, -0.049, -0.058]
NOISY = [-0.04, -0.005, 0.03]


def test_what_two_of_three_norms_do_not_have_is_told_of_the_third() -> None:
    frames = run(STEADY)
    row = post(frames)
    assert (row["within_noise"], row["varies"], row["varies_with"]) == (False, True, "norm")
    (text,) = texts(frames)
    # Thrice the mean over all pairs and the ends of its interval: no more is claimed than there.
    inside = np.array([row["estimate"], row["low"], row["high"]]) ** 3
    mean, low, high = (f"{100 * (one - 1):.2f}" for one in inside)
    assert (
        "but it depends on norm: shown only with norm = layernorm "
        f"({mean} %, {low} % to {high} %); unchanged with x and y"
    ) in text
    drawn = effects_table(comparisons(frames), "flow").set_index("factor").loc["placement"]
    assert drawn["depends"]
    assert row["told_level"] == pytest.approx(ALPHA)  # three levels share it; of three, Holm's
    assert row["shown_low"] == pytest.approx(inside[0])


def test_the_test_alone_would_not_have_found_it() -> None:
    values = 1.0 + SEEDS
    values[1::2] = values[::2] * (1 + 1e-6 * np.random.default_rng(4).normal(size=(3, 3)))
    values[1] = values[0] * (1.0 + np.array(STEADY))
    row = post(make_frames(NORMS, {"flow": values}, scale="log"))
    assert (row["within_noise"], row["varies"]) == (False, False)


def test_noise_in_some_pairs_and_none_in_others_is_noise() -> None:
    row = post(run(NOISY))
    assert (row["within_noise"], row["varies"]) == (True, False)


def test_what_is_moved_in_one_seed_is_not_still() -> None:
    difference = np.array([[0.0, 0.0, 0.0], [0.0, 1e-4, 0.0], [-0.05, -0.05, -0.051]])
    reference = SEEDS[:3] + 1.0
    still = still_pairs(np.stack([reference + difference, reference]), difference)
    assert still.tolist() == [True, False, False]


def test_seeds_that_agree_on_a_grid_are_no_proof() -> None:
    """Zeros and ones agree by chance."""
    reference = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    difference = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    assert not still_pairs(np.stack([reference + difference, reference]), difference).any()


@pytest.mark.parametrize(("n_seeds", "expected"), [(1, False), (2, False), (3, True)])
def test_what_no_seed_moves_needs_three_of_them(n_seeds: int, expected: bool) -> None:
    reference = np.stack([np.ones(3), 1 + SEEDS[0]])[:, :n_seeds]
    difference = np.array([[0.0, 0.0, 0.0], [-0.05, -0.052, -0.049]])[:, :n_seeds]
    still = still_pairs(np.stack([reference + difference, reference]), difference)
    assert still.tolist() == [expected, False]


def test_without_one_factor_that_tells_none_is_named() -> None:
    difference = np.array([[0.0, 0.0], [-0.1, -0.12], [0.0, 0.0], [0.0, 0.0]])
    still = np.array([True, False, True, True])
    levels = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    found = set_apart(still, difference, levels, {"a": 2, "b": 2})
    assert found is not None
    assert (found.factor, found.n_moved, found.within[2]) == ("", 1, 4)
    assert set_apart(np.ones(4, dtype=bool), 0 * difference, levels, {"a": 2, "b": 2}) is None
    one = set_apart(np.array([True, True, False, False]), difference, levels, {"a": 2, "b": 2})
    assert one is not None
    assert (one.factor, one.n_moved, one.within[2]) == ("a", 1, 2)


def test_two_levels_that_are_moved_share_the_error_rate_of_what_is_told() -> None:
    values = 1.0 + SEEDS
    values[1::2] = values[::2]
    values[1] *= 1.0 + np.array(STEADY)
    values[3] *= 1.0 + np.array(STEADY[::-1])
    frames = make_frames(NORMS, {"flow": values}, scale="log")
    row = post(frames)
    assert (row["within_noise"], row["varies"], row["varies_with"]) == (False, True, "norm")
    assert row["told_level"] == pytest.approx(ALPHA / 6)  # one of three effects, two tables each
    (text,) = texts(frames)
    assert re.search(
        r"but it depends on norm: not shown with norm = layernorm \(-\S+ % to \+\S+ %\) "
        r"and x \(-\S+ % to \+\S+ %\); unchanged with y",
        text,
    )
