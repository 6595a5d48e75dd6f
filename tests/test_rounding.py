from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from segjury.rounding import rounded, rounded_differences, rounded_pairs

ordinary = st.floats(1e-9, 1e20) | st.floats(-1e20, -1e-9) | st.just(0.0)
anything = st.floats(allow_nan=False, allow_infinity=False)


def printed(value, digits=12):
    """The number that Python prints with so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


@pytest.mark.parametrize("digits", [1, 2, 3, 7, 12])
def test_values_become_what_python_prints(digits):
    rng = np.random.default_rng(1)
    values = rng.standard_normal(3000) * 10.0 ** rng.integers(-7, 12, 3000)
    np.testing.assert_array_equal(
        rounded(values, digits=digits), [printed(v, digits) for v in values]
    )


@settings(deadline=None, max_examples=200)
@given(anything)
def test_rounding_is_odd_and_moves_no_value_beyond_the_last_digit(value):
    once = rounded(np.array(value))
    assert rounded(np.array(-value)) == -once
    assert abs(once - value) <= 0.51e-11 * abs(value)


@settings(deadline=None, max_examples=200)
@given(ordinary)
def test_rounding_twice_is_rounding_once(value):
    once = rounded(np.array(value))
    assert rounded(once) == once


@settings(deadline=None, max_examples=200)
@given(anything, anything)
def test_order_is_never_reversed(one, two):
    low, high = rounded(np.array(sorted((one, two))))
    assert low <= high


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 9999), min_size=2, max_size=5))
def test_sums_in_any_order_are_the_same_number(parts):
    thousandths = [part / 1000 for part in parts]  # hardly any is a binary fraction
    sums = [math.fsum(thousandths), *map(sum, itertools.permutations(thousandths))]
    assert len(set(rounded(np.array(sums)).tolist())) == 1


def test_zero_and_undefined_stay_and_shapes_are_kept():
    np.testing.assert_array_equal(rounded(np.array([[0.0, np.nan, -0.0]])), [[0.0, np.nan, 0.0]])
    assert rounded(np.empty((0, 3))).shape == (0, 3)
    assert rounded(np.array([np.inf, -np.inf])).tolist() == [np.inf, -np.inf]
    assert rounded(np.array([5e-324, 1.7e308])).tolist() == [5e-324, 1.7e308]


def test_the_twelfth_digit_counts_and_the_thirteenth_does_not():
    one = np.array([1.0, 1e6, 1e-6])
    assert (rounded(one * (1 + 2e-11)) != rounded(one)).all()
    assert (rounded(one * (1 + 2e-13)) == rounded(one)).all()


def test_what_ties_in_twelve_digits_ties_in_fewer():
    means = np.array([0.475, 0.4749999999999999])  # ten scores of two digits, in two orders
    assert len(set(rounded(means).tolist())) == 1
    assert len(set(rounded(means, digits=2).tolist())) == 1


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=8), st.integers(-500, 500))
def test_equal_steps_between_scores_are_equal_differences(scores, step):
    one = np.array([score / 1000 for score in scores])
    two = np.array([(score + step) / 1000 for score in scores])
    assert set(rounded_differences(two, one).tolist()) == {step / 1000}


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(ordinary, ordinary), min_size=1, max_size=6))
def test_differences_are_antisymmetric_and_close(pairs):
    one, two = np.array(pairs).T
    differences = rounded_differences(one, two)
    np.testing.assert_array_equal(differences, -rounded_differences(two, one))
    largest = np.abs(np.array(pairs)).max()
    assert (np.abs(differences - (one - two)) <= 0.51e-11 * largest).all()


def test_a_difference_below_the_twelfth_digit_of_the_largest_score_is_none():
    one, two = np.array([100.0, 0.1 + 0.2]), np.array([100.0 + 1e-11, 0.3])
    assert rounded_differences(one, two).tolist() == [0.0, 0.0]
    assert rounded_differences(np.array([100.0]), np.array([99.9999])).tolist() == [0.0001]
    assert rounded_differences(np.zeros(3), np.zeros(3)).tolist() == [0.0] * 3
    assert rounded_differences(np.empty(0), np.empty(0)).size == 0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(anything | st.just(0.0), min_size=3, max_size=3), min_size=3, max_size=3))
@example([[2.2250738585072014e-308, 0.0, 0.0], [5e-324, 0.0, 0.0], [0.0, 0.0, 0.0]])
def test_pairs_are_rounded_as_one_by_one(columns):
    columns = np.array(columns)
    first, second = np.triu_indices(3, 1)
    expected = rounded_differences(columns[first], columns[second])
    np.testing.assert_array_equal(rounded_pairs(columns, first, second), expected)
