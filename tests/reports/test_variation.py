"""The test of whether an effect depends on the other factors keeps its promise."""

import numpy as np
import pytest
from scipy import stats

from reports.effects import comparisons
from reports.intervals import ALPHA
from reports.variation import (
    contrast_p_values,
    pair_means,
    telling_factor,
    variation_p_values,
    variation_statistic,
    variation_test,
)
from tests.reports.simulated import interacting, make_frames

RUNS = 2000
# Three standard errors above the nominal rate.
MOST = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def p_value(difference: np.ndarray) -> float:
    statistic = np.array([variation_statistic(difference)])
    return float(variation_p_values(statistic, np.array([difference.shape[1]]))[0])


def test_statistic_against_the_textbook_formula() -> None:
    d = np.random.default_rng(0).normal(size=(4, 5))
    rows, columns = d.mean(axis=1, keepdims=True), d.mean(axis=0, keepdims=True)
    pairs = 5 * ((rows - d.mean()) ** 2).sum() / 3
    rest = ((d - rows - columns + d.mean()) ** 2).sum() / 12
    assert variation_statistic(d) == pytest.approx(pairs / rest)
    assert variation_statistic(d * 1e-200) == pytest.approx(pairs / rest)


def test_two_pairs_are_a_paired_t_test() -> None:
    d = np.random.default_rng(1).normal(size=(2, 6))
    assert p_value(d) == pytest.approx(stats.ttest_rel(d[0], d[1]).pvalue)


@pytest.mark.parametrize(
    ("name", "least"), [("equal", 0.0), ("unequal", 0.0), ("one seed effect", 0.03)]
)
def test_noise_is_rarely_taken_for_an_interaction(name: str, least: float) -> None:
    rng = np.random.default_rng(7)
    n_pairs, n_seeds = 6, 5
    weights = np.arange(n_pairs)[:, None] / n_pairs  # what a seed does, more to some pairs
    found = 0
    for _ in range(RUNS):
        shared = rng.normal(size=(1, n_seeds))
        own = rng.normal(size=(n_pairs, n_seeds))
        noise = {
            "equal": shared + own,
            "unequal": shared + own * np.geomspace(0.05, 5, n_pairs)[:, None],
            # Perfectly correlated, the worst case: here the bound is exact.
            "one seed effect": weights * shared + 1e-6 * own,
        }[name]
        found += p_value(0.3 + noise) <= ALPHA
    assert least <= found / RUNS <= MOST


def test_the_usual_degrees_of_freedom_would_find_too_much() -> None:
    rng = np.random.default_rng(7)
    weights = np.arange(6)[:, None] / 6
    found = 0
    for _ in range(RUNS):
        d = weights * rng.normal(size=(1, 5)) + 1e-6 * rng.normal(size=(6, 5))
        found += stats.f.sf(variation_statistic(d), 5, 20) <= ALPHA
    assert found / RUNS > 2 * MOST


def test_planted_interactions_are_found_with_five_seeds() -> None:
    rng = np.random.default_rng(3)
    planted = np.array([1, 1, 1, -1, -1, -1])[:, None] * 0.1
    found = [
        p_value(planted + rng.normal(size=(1, 5)) + rng.normal(0, 0.05, size=(6, 5))) <= ALPHA
        for _ in range(200)
    ]
    assert np.mean(found) > 0.9
    rows = comparisons(interacting("log", noise=0.05)).set_index("factor")
    assert rows["varies"].to_dict() == {"norm": True, "placement": True, "size": False}


@pytest.mark.parametrize("primary", [True, False])
def test_many_tests_are_adjusted(primary: bool) -> None:
    rng = np.random.default_rng(2)
    metrics = {f"m{i}": rng.normal(size=(4, 5)) for i in range(40)}
    alone = [p_value(values[2:] - values[:2]) <= ALPHA for values in metrics.values()]
    assert any(alone)
    factors = {"norm": ["a", "b"], "size": ["1", "2"]}
    table = comparisons(make_frames(factors, metrics, primary=primary))
    assert table["varies"].eq(False).all()


def test_seeds_that_agree_are_no_measure_of_noise() -> None:
    d = np.repeat([[1.0], [2.0]], 3, axis=1)
    assert variation_statistic(d) == 0
    assert p_value(d) == 1
    assert variation_statistic(np.ones((3, 3))) == 0
    assert np.isnan(variation_statistic(np.ones((1, 3))))
    assert np.isnan(variation_statistic(np.ones((3, 1))))


def test_a_metric_of_few_values_rarely_varies_by_noise() -> None:
    """Zeros and ones: with three seeds all of them often agree."""
    rng = np.random.default_rng(6)
    values = rng.integers(0, 2, size=(RUNS, 2, 2, 3)).astype(float)
    found = [
        variation_test(d[1] - d[0], {"size": np.array([0, 1])}).p_value <= ALPHA for d in values
    ]
    assert np.mean(found) <= MOST


def test_rounding_is_no_difference() -> None:
    means, differ = pair_means(np.array([[0.1 + 0.2], [0.3]]), np.array([[1.0]]))
    assert means.tolist() == [0.1 + 0.2, 0.3]
    assert not differ
    assert pair_means(np.array([[0.3], [0.31]]), np.array([[1.0]]))[1]


# Six pairs: a factor of two levels crossed with one of three.
TWO = np.array([0, 0, 0, 1, 1, 1])
THREE = np.array([0, 1, 2, 0, 1, 2])
LEVELS = {"placement": TWO, "attention": THREE}


def test_a_contrast_is_a_t_test_on_the_means_of_two_levels() -> None:
    d = np.random.default_rng(4).normal(size=(6, 5))
    theirs = stats.ttest_rel(d[3:].mean(axis=0), d[:3].mean(axis=0)).pvalue
    assert contrast_p_values(d, TWO).tolist() == pytest.approx([theirs])
    by_level = [d[level == THREE].mean(axis=0) for level in range(3)]
    expected = [stats.ttest_rel(by_level[i], by_level[0]).pvalue for i in (1, 2)]
    assert contrast_p_values(d, THREE).tolist() == pytest.approx(expected)
    assert contrast_p_values(d, TWO + 1).tolist() == []  # no pair at the baseline
    assert contrast_p_values(d[:3], TWO[:3]).tolist() == []  # none beside it
    assert contrast_p_values(d[:, :1], TWO).tolist() == []
    assert contrast_p_values(d, 2 * TWO).tolist() == pytest.approx([theirs])  # a level without any
    constant = np.repeat([[1.0], [1.0], [1.0], [2.0], [2.0], [2.0]], 3, axis=1)
    assert contrast_p_values(constant, TWO).tolist() == [1]
    assert contrast_p_values(constant, THREE).tolist() == [1, 1]


def test_the_smallest_of_all_p_values_is_multiplied_by_their_number() -> None:
    d = np.random.default_rng(4).normal(size=(6, 5)) + 4 * TWO[:, None]
    found = variation_test(d, LEVELS)
    assert found.factor == "placement"
    assert found.p_value == pytest.approx(4 * contrast_p_values(d, TWO)[0])
    assert np.isnan(variation_test(d[:1], {}).p_value)


def test_a_factor_that_tells_all_of_an_exact_effect() -> None:
    assert telling_factor(np.array([1.0, 1, 1, 2, 2, 2]), 2.0, LEVELS) == "placement"
    assert telling_factor(np.array([1.0, 2, 3, 1, 2, 3]), 3.0, LEVELS) == "attention"
    assert telling_factor(np.array([0.1 + 0.2, 0.3, 0.3, 2, 2, 2]), 2.0, LEVELS) == "placement"
    assert telling_factor(np.arange(6.0), 5.0, LEVELS) == ""


def test_an_effect_of_one_level_is_found_where_noise_is_all_at_that_level() -> None:
    """As swiglu's with pre placement: large and noisy there, nothing with post."""
    rng = np.random.default_rng(5)
    found = [
        variation_test(
            np.where(TWO[:, None] == 0, 0.2 + rng.normal(0, 0.06, size=(6, 5)), 0.001), LEVELS
        )
        for _ in range(200)
    ]
    assert np.mean([f.factor == "placement" and f.p_value < 0.01 for f in found]) > 0.8


@pytest.mark.parametrize("name", ["equal", "at one level", "one seed effect"])
def test_noise_is_rarely_taken_for_a_dependence_on_any_factor(name: str) -> None:
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(RUNS):
        own = rng.normal(size=(6, 5))
        noise = {
            "equal": own,
            "at one level": own * np.where(TWO == 0, 1.0, 1e-3)[:, None],
            "one seed effect": TWO[:, None] * rng.normal(size=(1, 5)) + 1e-6 * own,
        }[name]
        found += variation_test(0.3 + noise, LEVELS).p_value <= ALPHA
    assert found / RUNS <= MOST


def test_the_factor_that_tells_pairs_apart_is_named() -> None:
    table = comparisons(interacting("log")).set_index("factor")
    assert table.loc["norm", "varies_with"] == "placement"
    assert table.loc["placement", "varies_with"] == "norm"
