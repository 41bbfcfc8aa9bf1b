"""Which observations are used, and where seeds that agree are no measure of noise."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reports import state_findings
from reports.effects import comparisons
from reports.estimates import complete_block
from tests.reports.simulated import make_frames

masks = arrays(np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 5)))
TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


@settings(max_examples=100, deadline=None)
@given(masks)
def test_a_block_is_complete_and_as_large_as_any_of_its_seeds(usable: np.ndarray) -> None:
    groups, seeds = complete_block(usable)
    assert usable[np.ix_(groups, seeds)].all()
    assert (len(groups) > 0) == (len(seeds) > 0) == bool(usable.any())
    if usable.any():  # no group is left out that has all these seeds
        assert groups.tolist() == np.flatnonzero(usable[:, seeds].all(axis=1)).tolist()


# Zeros and ones of norm = a and b: one pair changes by 1 in every seed, the other by nothing.
AGREE = np.array([[0, 0, 0], [1, 0, 1], [1, 1, 1], [1, 0, 1]], dtype=float)


def test_a_few_seeds_that_agree_show_nothing() -> None:
    row = comparisons(make_frames(TWO_BY_TWO, {"x": AGREE})).iloc[0]
    assert not row["exact"]  # seeds change the metric in other cells
    assert row["estimate"] == 0.5
    assert np.isnan(row["low"])
    assert row["within_noise"] is pd.NA
    assert row["varies"] is pd.NA
    scattered = AGREE.copy()
    scattered[3, 1] = 1
    row = comparisons(make_frames(TWO_BY_TWO, {"x": scattered})).iloc[0]
    assert row["low"] < row["estimate"] < row["high"]


def test_seeds_that_agree_are_told() -> None:
    findings = state_findings(make_frames(TWO_BY_TWO, {"x": AGREE}))
    (text,) = [f.text for f in findings if f.factor == "norm"]
    assert text == (
        "x: norm = b instead of a differed by +0.500 unit, 150\u00a0% more in 3 seeds (2 pairs, 3 "
        "seeds; seeds agree here: no interval can be given; same direction in 50\u00a0% of the "
        "pairs)."
    )
    assert not [f for f in findings if f.kind in ("most", "effect", "depends")]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_effect_that_no_seed_changes_is_sure_where_seeds_change_the_values(scale: str) -> None:
    """As of an option that scales what is drawn."""
    drawn = np.random.default_rng(1).uniform(1, 2, size=(2, 3))
    values = np.vstack([drawn, drawn * 2 if scale == "log" else drawn + 2])
    row = comparisons(make_frames(TWO_BY_TWO, {"x": values}, scale=scale)).iloc[0]
    assert not row["exact"]
    assert list(row[["estimate", "low", "high"]]) == pytest.approx([2, 2, 2])
    assert row["within_noise"] == False  # noqa: E712


@pytest.mark.parametrize(("scale", "base"), [("linear", 100.0), ("log", 1.0)])
def test_differences_that_float32_cannot_tell_are_none(scale: str, base: float) -> None:
    """A stack that ends with a norm has the size 1 whatever stands before it, but for eps."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, size=(1, 4))
    values = base * np.exp(np.concatenate([noise, noise + 5e-8]))
    row = comparisons(make_frames({"norm": ["a", "b"]}, {"x": values}, scale=scale)).iloc[0]
    assert row["unchanged"]
    assert row["estimate"] == (1.0 if scale == "log" else 0.0)
    told = base * np.exp(np.concatenate([noise, noise + 5e-7]))
    row = comparisons(make_frames({"norm": ["a", "b"]}, {"x": told}, scale=scale)).iloc[0]
    assert not row["unchanged"]
