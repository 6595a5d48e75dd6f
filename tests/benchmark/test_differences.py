"""Standardised differences and total variation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury.benchmark.split.differences import (
    category_difference,
    mean_difference,
    share_difference,
    total_variation,
)


def test_means_by_hand():
    # |10 - 13| / sqrt((4 + 16) / 2)
    assert mean_difference(10, 2, 13, 4) == pytest.approx(3 / math.sqrt(10))
    assert mean_difference(13, 4, 10, 2) == pytest.approx(3 / math.sqrt(10))


def test_equal_constants_are_alike_and_different_ones_infinitely_far_apart():
    assert mean_difference(5, 0, 5, 0) == 0
    assert mean_difference(5, 0, 6, 0) == math.inf
    assert np.isnan(mean_difference(5, math.nan, 6, 1))


def test_shares_by_hand():
    # 0.1 / sqrt((0.25 + 0.24) / 2)
    assert share_difference(0.5, 0.4) == pytest.approx(0.1 / math.sqrt(0.245))
    assert category_difference([0.5, 0.5], [0.4, 0.6]) == pytest.approx(0.1 / math.sqrt(0.245))


def test_three_levels_by_hand():
    # without the last level p - q is (0.3, 0); the variances are (0.25 + 0.16) / 2 = 0.205 and
    # 0.21, the covariance is -(0.15 + 0.06) / 2 = -0.105
    expected = math.sqrt(0.09 * 0.21 / (0.205 * 0.21 - 0.105**2))
    assert category_difference([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) == pytest.approx(expected)


def test_parts_without_a_common_level_are_infinitely_far_apart():
    assert category_difference([1, 0, 0], [0, 0.5, 0.5]) == math.inf
    assert category_difference([1, 0, 0], [1, 0, 0]) == 0


def by_inversion(p, q):
    """The same distance from the matrices themselves, without the levels that no part has."""
    there = (p + q) > 0
    p, q = p[there], q[there]
    covariance = sum(np.diag(s) - np.outer(s, s) for s in (p, q)) / 2
    return math.sqrt((p - q)[1:] @ np.linalg.inv(covariance[1:, 1:]) @ (p - q)[1:])


counts = st.lists(st.integers(0, 20), min_size=3, max_size=5)


@given(counts, counts)
@settings(max_examples=60, deadline=None)
def test_the_closed_form_is_the_mahalanobis_distance(first, second):
    size = min(len(first), len(second))
    a, b = np.array(first[:size], float), np.array(second[:size], float)
    a[0] += 1  # a common level, so that the matrix can be inverted
    b[0] += 2
    p, q = a / a.sum(), b / b.sum()
    found = category_difference(p, q)
    if np.count_nonzero(p + q) > 1:
        assert found == pytest.approx(by_inversion(p, q), rel=1e-6, abs=1e-9)
    else:
        assert found == 0


def test_total_variation_by_hand():
    assert total_variation([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) == pytest.approx(0.3)
    assert total_variation([1, 0], [0, 1]) == 1
    assert total_variation([[0.5, 0.5], [1, 0]], [0.5, 0.5]).tolist() == [0, 0.5]
