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
    values = np.random.default_rng(1).normal(size=(6, 4))
    frames = make_frames(FACTORS, {"x": values})
    cells = frames.cells.assign(y=values.mean(axis=1))
    table = anova_lm(ols("y ~ C(norm) + C(size)", data=cells).fit())
    expected = table["sum_sq"] / table["sum_sq"].sum()
    shares = share_of_variance(frames)
    assert shares["share"].to_list() == pytest.approx(
        [expected["C(norm)"], expected["C(size)"]], rel=1e-9
    )
    assert shares["balanced"].all()


def test_unbalanced_cells_are_said_to_be() -> None:
    frames = make_frames(FACTORS, {"x": np.random.default_rng(1).normal(size=(6, 4))})
    metrics = frames.metrics[frames.metrics["cell"] != frames.cells["cell"].iloc[0]]
    shares = share_of_variance(replace(frames, metrics=metrics))
    assert not shares["balanced"].any()
    assert (shares["n_cells"] == 5).all()


def test_no_variance_has_no_shares() -> None:
    shares = share_of_variance(make_frames(FACTORS, {"x": np.ones((6, 2))}))
    assert pd.isna(shares["share"]).all()
