"""What a profile along depth comes to, against formulas taken another way."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ablations.measures.trends import decay, furthest, geometric_mean, ratio, span

SIZES = st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=20)


@given(SIZES)
def test_decay_is_the_least_squares_line_of_numpy(values):
    factor, fit = decay(values)
    logs = np.log(values)
    slope, _ = np.polyfit(np.arange(len(values)), logs, 1)
    assert factor == pytest.approx(math.exp(-slope), rel=1e-6)
    if np.std(logs) > 1e-6:
        r = np.corrcoef(np.arange(len(values)), logs)[0, 1]
        assert fit == pytest.approx(r**2, abs=1e-6)


@given(SIZES)
def test_span_and_mean_do_not_depend_on_order_or_unit(values):
    assert span(values) == max(values) / min(values) >= 1
    assert span(values) == pytest.approx(span([3 * value for value in reversed(values)]))
    assert geometric_mean(values) == pytest.approx(float(np.exp(np.log(values).mean())))
    assert min(values) * (1 - 1e-9) <= geometric_mean(values) <= max(values) * (1 + 1e-9)


def test_a_factor_each_block_fits_wholly():
    factor, fit = decay([0.5**layer for layer in range(12)])
    assert factor == pytest.approx(2.0)
    assert fit == pytest.approx(1.0)
    assert decay([3.0, 3.0, 3.0]) == (1.0, 1.0)


def test_the_furthest_is_so_in_proportion():
    assert furthest([1.0, 0.1, 5.0, 1.0]) == (1, pytest.approx(0.1))
    assert furthest([1.0, 0.5, 40.0, 2.0]) == (2, pytest.approx(20.0))
    assert furthest([2.0, 2.0]) == (0, 1.0)


def test_zeros_and_what_is_not_finite():
    assert ratio([0.0, 2.0]) == 0.0
    assert ratio([1.0, 0.0]) == math.inf
    assert math.isnan(ratio([0.0, 0.0]))
    assert math.isnan(ratio([1.0, math.inf]))
    assert span([1.0, 0.0]) == span([0.0, 1.0]) == math.inf
    assert all(map(math.isnan, (span([0.0, 0.0]), span([1.0, math.inf]))))
    assert geometric_mean([1.0, 0.0]) == 0.0
    assert math.isnan(geometric_mean([1.0, math.nan]))
    assert decay([1.0, 0.0, 1.0]) == (0.0, 0.0)
    assert all(map(math.isnan, decay([math.nan, 1.0])))
    assert furthest([1.0, 0.0, 1.0]) == (1, 0.0)
    assert math.isnan(furthest([1.0, math.nan])[1])
