"""Rank correlations against scipy, and intervals that hold what they say."""

import numpy as np
import pytest
from scipy import stats

from reports.training.rank_correlation import LEAST, all_alike, rank_correlation


def test_against_scipy_with_ties() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, size=20).astype(float), rng.normal(size=20)
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)
    assert found.n == 20


def test_interval_by_hand() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    found = rank_correlation(x, x + rng.normal(size=30))
    error = np.sqrt((1 + found.value**2 / 2) / 27)
    z = np.arctanh(found.value)
    expected = np.tanh([z - 1.959964 * error, z + 1.959964 * error])
    assert found.interval(0.05) == pytest.approx(tuple(expected), rel=1e-6)


def test_the_interval_excludes_nothing_where_the_p_value_says_so() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        x = rng.normal(size=12)
        found = rank_correlation(x, 0.5 * x + rng.normal(size=12))
        low, high = found.interval(0.05)
        assert (found.p_value <= 0.05) == (low > 0 or high < 0)


def test_intervals_cover_the_correlation() -> None:
    rng = np.random.default_rng(3)
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's of a normal pair with Pearson's 0.6
    covered = 0
    for _ in range(1000):
        pair = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=24)
        low, high = rank_correlation(pair[:, 0], pair[:, 1]).interval(0.05)
        covered += low <= truth <= high
    assert 0.93 < covered / 1000 < 0.975


@pytest.mark.parametrize("sign", [1, -1])
def test_a_perfect_order_is_not_certain(sign: int) -> None:
    found = rank_correlation(np.arange(6.0), sign * np.arange(6.0))
    low, high = sorted(abs(end) for end in found.interval(0.05))
    assert found.value == sign
    assert high == 1
    assert 0.3 < low < 0.8
    assert 0 < found.p_value < 0.05


@pytest.mark.parametrize(
    ("x", "y"),
    [(np.arange(4.0), np.arange(4.0)), (np.ones(9), np.arange(9.0)), (np.arange(9.0), np.ones(9)),
     (np.empty(0), np.empty(0))],
)  # fmt: skip
def test_nothing_is_said_of_few_or_of_what_never_changes(x: np.ndarray, y: np.ndarray) -> None:
    found = rank_correlation(x, y)
    assert np.isnan([found.value, found.p_value, *found.interval(0.05)]).all()


def test_what_differs_by_rounding_is_a_tie() -> None:
    assert LEAST == 5
    assert all_alike(np.array([0.1 + 0.2, 0.3, 0.3 + 1e-12]))
    assert not all_alike(np.array([0.3, 0.3001]))
    x = np.array([1.0, 1.0 + 1e-9, 2.0, 3.0, 4.0])
    assert rank_correlation(x, np.arange(5.0)).value == pytest.approx(
        stats.spearmanr([1, 1, 2, 3, 4], np.arange(5)).statistic
    )
