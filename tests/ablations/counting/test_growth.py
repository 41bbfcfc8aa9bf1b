"""What grows with the square of the context."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablations.counting.growth import quadratic_part

CONTEXTS = st.lists(st.integers(1, 2**17), min_size=4, max_size=7, unique=True)
COEFFICIENTS = st.integers(0, 2**60)


@settings(deadline=None)  # a busy machine
@given(CONTEXTS, COEFFICIENTS, COEFFICIENTS, COEFFICIENTS)
def test_a_quadratic_is_told_exactly(contexts, a, b, c):
    assert quadratic_part({n: a + b * n + c * n * n for n in contexts}) == c


@settings(deadline=None)  # a busy machine
@given(CONTEXTS, st.integers(1, 2**40))
def test_a_cubic_is_no_quadratic(contexts, d):
    assert quadratic_part({n: d * n**3 for n in contexts}) is None


def test_a_half_is_no_rounding():
    assert quadratic_part({n: n * (n + 1) // 2 for n in (3, 8, 16, 31)}) == Fraction(1, 2)


@pytest.mark.parametrize("window", [100, 1000])
def test_what_bends_at_a_window_is_no_quadratic(window):
    counts = {n: n * min(n, window) for n in (16, 512, 2048, 8192, 32768)}
    assert quadratic_part(counts) is None


def test_three_contexts_cannot_tell():
    assert quadratic_part({1: 1, 2: 4, 3: 9}) is None
