"""Numbers by plain sums and products, against the libraries whose last digits may differ."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segjury.metrics.geometry import steady


@given(st.lists(st.floats(-700, 0), min_size=1))
def test_powers_are_right_to_the_last_digit_but_one(exponents):
    expected = [math.exp(x) for x in exponents]
    np.testing.assert_allclose(steady.exp(np.array(exponents)), expected, rtol=4e-16)


@given(st.lists(st.floats(1e-300, 1e300), min_size=1))
def test_logarithms_are_right_to_the_last_digit_but_one(values):
    expected = [math.log(x) for x in values]
    np.testing.assert_allclose(steady.log(np.array(values)), expected, rtol=6e-16)


@given(st.lists(st.floats(-0.9999, 1e9), min_size=1))
def test_logarithms_near_1_keep_their_digits(values):
    expected = [math.log1p(x) for x in values]
    np.testing.assert_allclose(steady.log1p(np.array(values)), expected, rtol=8e-16, atol=1e-300)


@pytest.mark.parametrize("exponent", [-800.0, -1e300, -math.inf])
def test_the_smallest_powers_are_0(exponent):
    assert steady.exp(np.array([exponent, 0.0])).tolist() == [0, 1]


@given(
    st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=1, max_size=60),
    st.tuples(*[st.floats(0.2, 5)] * 3),
)
def test_the_longest_axis_is_that_of_the_largest_eigenvalue(points, spacing):
    voxels, size = np.array(points), np.array(spacing)
    apart = (voxels - voxels.mean(axis=0)) * size
    spread = apart.T @ apart / len(voxels) + np.diag(size**2 / 12)
    axis = steady.longest_axis(voxels, size)
    assert axis @ axis == pytest.approx(1)
    assert axis @ spread @ axis == pytest.approx(np.linalg.eigvalsh(spread)[-1])


@pytest.mark.parametrize("count", [1, 24, 120])
def test_directions_go_around_a_circle(count):
    cosines, sines = steady.directions(count)
    turn = np.exp(2j * np.pi * np.arange(count) / count)
    np.testing.assert_allclose(cosines + 1j * sines, turn, rtol=0, atol=1e-12)


def test_a_cube_has_its_root():
    assert steady.cube_root(27.0) == 3
    assert steady.cube_root(0.3) == pytest.approx(math.cbrt(0.3), rel=1e-11)
