"""Shares of variance against an analysis of variance."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from reports import share_of_variance
from tests.reports.simulated import make_frames

FACTORS = {"norm": ["a", "b"], "size": ["1", "2", "3"]}


def test_shares_are_those_of_an_analysis_of_variance() -> None:
    values = np.random.default_rng(1).normal(size=(6, 4)) + np.arange(6)[:, None]
    frames = make_frames(FACTORS, {"x": values})
    cells = frames.cells.loc[np.repeat(range(6), 4)].assign(y=values.ravel(), seed=[*range(4)] * 6)
    formula = "y ~ C(norm) * C(size) + C(norm) * C(seed) + C(size) * C(seed)"
    table = anova_lm(ols(formula, data=cells).fit())
    square = table["sum_sq"]
    total = square["C(norm)"] + square["C(size)"] + square["C(norm):C(size)"]
    expected = [
        (square[f"C({f})"] - table.loc[f"C({f})", "df"] * table.loc[error, "mean_sq"]) / total
        for f, error in (("norm", "C(norm):C(seed)"), ("size", "C(size):C(seed)"))
    ]
    shares = share_of_variance(frames)
    assert shares["share"].to_list() == pytest.approx(expected, rel=1e-9)
    assert shares["balanced"].all()


def test_noise_carries_nothing() -> None:
    """A factor of 20 levels has 19 of 39 degrees of freedom, and that share of noise by chance."""
    rng = np.random.default_rng(0)
    levels = {"many": [str(i) for i in range(20)], "few": ["a", "b"]}
    metrics = {f"m{i}": rng.normal(5, 1, size=(40, 3)) for i in range(60)}
    shares = share_of_variance(make_frames(levels, metrics)).groupby("factor")["share"].mean()
    assert shares["many"] < 0.15
    assert shares["few"] < 0.05


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-20, 1e20])
def test_rounding_is_no_variance(value: float) -> None:
    factors = {"a": [str(i) for i in range(10)], "b": ["x", "y", "z"]}
    shares = share_of_variance(make_frames(factors, {"x": np.full((30, 3), value)}))
    assert shares["share"].isna().all()


def test_no_share_is_beyond_all_of_it() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        shares = share_of_variance(make_frames(FACTORS, {"x": rng.normal(size=(6, 2))}))["share"]
        assert shares.between(0, 1).all()


def test_one_seed_tells_no_noise() -> None:
    frames = make_frames(FACTORS, {"x": np.arange(6.0)[:, None]})
    assert share_of_variance(frames)["share"].isna().all()
    declared = replace(frames, metric_info=frames.metric_info.assign(exact=True))
    assert share_of_variance(declared)["share"].notna().all()


def test_unbalanced_cells_are_said_to_be() -> None:
    frames = make_frames(FACTORS, {"x": np.random.default_rng(1).normal(size=(6, 4))})
    metrics = frames.metrics[frames.metrics["cell"] != frames.cells["cell"].iloc[0]]
    shares = share_of_variance(replace(frames, metrics=metrics))
    assert (shares["n_dropped"] == 1).all()
    assert not shares["balanced"].any()
    assert (shares["n_cells"] == 5).all()


def test_no_variance_has_no_shares() -> None:
    shares = share_of_variance(make_frames(FACTORS, {"x": np.ones((6, 2))}))
    assert pd.isna(shares["share"]).all()


def test_a_factor_that_changes_nothing_has_no_share() -> None:
    """Means that add up in another order differ by rounding, and cells that lack by much more."""
    own = np.random.default_rng(3).normal(5, 0.1, size=(1, 3, 3)) + np.arange(3)[:, None]
    frames = make_frames(FACTORS, {"x": np.broadcast_to(own, (2, 3, 3)).reshape(6, 3)})
    shares = share_of_variance(frames).set_index("factor")["share"]
    assert shares["norm"] == 0
    assert shares["size"] > 0.1
    frames = replace(frames, metrics=frames.metrics[frames.metrics["cell"] != "1".zfill(16)])
    shares = share_of_variance(frames).set_index("factor")["share"]
    assert shares["norm"] == 0
    assert shares["size"] > 0.1


def test_a_share_that_rounding_leaves_is_none() -> None:
    """Levels whose means are equal, as what they do in one half they undo in the other."""
    change = np.array([0.1, 0.7, -0.8])
    values = np.concatenate([1000.3 + change, 1000.3 - change])[:, None] + np.zeros((6, 3))
    frames = make_frames(FACTORS, {"x": values})
    shares = share_of_variance(frames)["share"]
    assert shares.to_list() == [0, 0]


def test_a_factor_without_a_pair_is_not_said_to_change_nothing() -> None:
    values = np.random.default_rng(1).normal(size=(6, 4)) + np.repeat([0, 5], 3)[:, None]
    frames = make_frames(FACTORS, {"x": values})
    unpaired = frames.cells["cell"].iloc[[0, 1, 5]]
    kept = frames.metrics[frames.metrics["cell"].isin(unpaired)]
    shares = share_of_variance(replace(frames, metrics=kept)).set_index("factor")["share"]
    assert shares["norm"] > 0.5
