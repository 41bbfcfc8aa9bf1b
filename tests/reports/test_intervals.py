"""Intervals and their adjustment against independent implementations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports.intervals import (
    ALPHA,
    Floats,
    bonferroni_levels,
    false_coverage_levels,
    half_widths,
    holm_levels,
    p_values,
)

probabilities = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


def test_t_interval_is_scipys() -> None:
    sample = np.random.default_rng(1).normal(0.3, 1, size=6)
    error = np.array([stats.sem(sample)])
    low, high = stats.t.interval(0.99, 5, loc=sample.mean(), scale=error[0])
    half = half_widths(error, np.array([5.0]), np.array([0.01]))[0]
    assert [sample.mean() - half, sample.mean() + half] == pytest.approx([low, high], rel=1e-12)
    expected = stats.ttest_1samp(sample, 0).pvalue
    assert p_values(np.array([sample.mean()]), error, np.array([5.0]))[0] == pytest.approx(expected)


def test_without_spread_only_zero_is_no_effect() -> None:
    p = p_values(np.array([0.0, 1e-12]), np.zeros(2), np.full(2, 4.0))
    assert p.tolist() == [1.0, 0.0]


def test_bonferronis_levels_are_those_of_all_that_were_asked_for() -> None:
    levels, rejected = bonferroni_levels(np.array([0.01, 0.02]), n=4)  # two have no interval
    assert levels.tolist() == [0.0125, 0.0125]
    assert rejected.tolist() == [True, False]


@settings(max_examples=40)
@given(probabilities)
def test_holm_rejects_as_statsmodels(p: Floats) -> None:
    levels, rejected = holm_levels(p)
    assert rejected.tolist() == multipletests(p, ALPHA, method="holm")[0].tolist()
    assert ((p <= levels) == rejected).all()
    assert len(set(levels[~rejected])) <= 1  # one level from the first non-rejected on


@settings(max_examples=40)
@given(probabilities)
def test_benjamini_hochberg_rejects_as_statsmodels(p: Floats) -> None:
    levels, rejected = false_coverage_levels(p)
    assert rejected.tolist() == multipletests(p, ALPHA, method="fdr_bh")[0].tolist()
    assert levels == pytest.approx(np.full(len(p), max(rejected.sum(), 1) * ALPHA / len(p)))


def test_holm_levels_by_hand() -> None:
    levels, rejected = holm_levels(np.array([0.03, 0.001, 0.2, 0.011]))
    assert levels == pytest.approx([0.05 / 2, 0.05 / 4, 0.05 / 2, 0.05 / 3])
    assert rejected.tolist() == [False, True, False, True]


@settings(max_examples=40)
@given(probabilities)
def test_order_does_not_show(p: Floats) -> None:
    order = np.random.default_rng(len(p)).permutation(len(p))
    for adjust in (holm_levels, false_coverage_levels):
        assert adjust(p)[0][order].tolist() == adjust(p[order])[0].tolist()


def test_nothing_to_adjust() -> None:
    assert [
        len(part) for part in (*holm_levels(np.empty(0)), *false_coverage_levels(np.empty(0)))
    ] == ([0, 0, 0, 0])


@pytest.mark.parametrize("n_seeds", [3, 10])
def test_interval_over_seeds_covers_at_its_rate_where_one_over_pairs_does_not(n_seeds: int) -> None:
    rng = np.random.default_rng(7)
    n_runs, n_pairs, truth = 4000, 36, 0.2
    shared = rng.normal(0, 1, size=(n_runs, 1, n_seeds))  # what a seed does to all its pairs
    sample = truth + shared + rng.normal(0, 0.5, size=(n_runs, n_pairs, n_seeds))

    by_seed = sample.mean(axis=1)
    error = by_seed.std(axis=1, ddof=1) / np.sqrt(n_seeds)
    half = half_widths(error, np.full(n_runs, n_seeds - 1.0), np.full(n_runs, ALPHA))
    covered = (np.abs(by_seed.mean(axis=1) - truth) <= half).mean()
    assert covered == pytest.approx(0.95, abs=0.012)

    flat = sample.reshape(n_runs, -1)
    naive = half_widths(
        flat.std(axis=1, ddof=1) / np.sqrt(flat.shape[1]),
        np.full(n_runs, flat.shape[1] - 1.0),
        np.full(n_runs, ALPHA),
    )
    assert (np.abs(flat.mean(axis=1) - truth) <= naive).mean() < 0.5
