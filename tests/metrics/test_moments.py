"""Mahalanobis distance of two masks: the tool's numbers, scipy's, and masks done by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import distance

from segjury.arrays import flat
from segjury.metrics.laws import blob
from segjury.metrics.moments import Moments, mahalanobis, mahalanobis_from
from tests.evaluatesegmentation import REFUSED, SCORED


def mask(shape, *voxels):
    array = np.zeros(shape, bool)
    array[tuple(np.transpose(voxels))] = True
    return array


@pytest.mark.parametrize("pair", SCORED, ids=lambda pair: pair.name)
def test_the_distance_is_the_tools(pair):
    value = mahalanobis(pair.reference, pair.prediction)
    assert value == pytest.approx(pair.values["MAHLNBS"], rel=0, abs=1e-12)


@pytest.mark.parametrize("pair", REFUSED, ids=lambda pair: pair.name)
def test_what_the_tool_refuses_is_undefined(pair):
    assert math.isnan(mahalanobis(pair.reference, pair.prediction))


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_is_scipys(seed):
    rng = np.random.default_rng(seed)
    r, p = blob(rng), blob(rng)
    points = np.argwhere(r), np.argwhere(p)
    centred = np.concatenate([cloud - cloud.mean(axis=0) for cloud in points])
    inverse = np.linalg.inv(centred.T @ centred / len(centred))
    expected = distance.mahalanobis(points[0].mean(axis=0), points[1].mean(axis=0), inverse)
    assert mahalanobis(r, p) == pytest.approx(expected, rel=1e-12)


def test_two_pairs_by_hand():
    # along x: centres 0.5 and 2.5, variances 1/4 and 1/4
    assert mahalanobis([1, 1, 0, 0], [0, 0, 1, 1]) == 4.0


def test_flat_indices_give_the_same_moments():
    r = blob(np.random.default_rng(3))
    assert Moments.of_voxels(np.flatnonzero(flat(r)), r.shape) == Moments.of(r)


def test_flips_and_axis_permutations_change_nothing():
    rng = np.random.default_rng(4)
    r, p = blob(rng), blob(rng)
    for axes in itertools.permutations(range(3)):
        moved = [np.flip(array.transpose(axes), axes[0]) for array in (r, p)]
        assert mahalanobis(*moved) == mahalanobis(r, p) == mahalanobis(p, r)


def test_a_place_far_from_the_origin_costs_no_digits():
    shape = (2_000_000, 2_000_000, 1_000)  # no such image is needed, only indices in it
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 1, 2]])
    others = points[:4] + np.array([1, 0, 2])

    def moments(cloud, place):
        x, y, z = (cloud + place).T
        return Moments.of_voxels(x + shape[0] * (y + shape[1] * z), shape)

    near, far = (
        mahalanobis_from(moments(points, place), moments(others, place))
        for place in ([0, 0, 0], [1_999_000, 1_999_000, 900])
    )
    assert near == far


def test_masks_in_one_plane_have_the_distance_of_the_plane():
    r, p = (np.random.default_rng(seed).random((6, 7)) > 0.5 for seed in (0, 1))
    for axis in range(3):
        volumes = [np.expand_dims(plane, axis) for plane in (r, p)]
        assert mahalanobis(*volumes) == mahalanobis(r, p)


def test_masks_on_one_diagonal_have_the_distance_along_it():
    on_diagonal = [mask((4, 4, 4), *[(i, i, i) for i in pair]) for pair in ((0, 1), (2, 3))]
    assert mahalanobis(*on_diagonal) == mahalanobis([1, 1, 0, 0], [0, 0, 1, 1])


def test_masks_apart_where_neither_extends_have_no_distance():
    for axis in range(3):
        planes = np.zeros((2, 3, 4, 5), bool)
        planes[0].swapaxes(0, axis)[0] = True
        planes[1].swapaxes(0, axis)[2] = True
        assert math.isnan(mahalanobis(*planes))
    shape = (4, 4, 4)
    assert math.isnan(mahalanobis(mask(shape, (1, 1, 1)), mask(shape, (1, 2, 1))))
    beside_each_other = mask(shape, (0, 0, 2), (1, 1, 2)), mask(shape, (2, 2, 3), (3, 3, 3))
    assert math.isnan(mahalanobis(*beside_each_other))


def test_identical_masks_have_none():
    assert mahalanobis(mask((3, 3, 3), (1, 2, 0)), mask((3, 3, 3), (1, 2, 0))) == 0.0


def test_another_grid_is_refused():
    with pytest.raises(ValueError, match=r"prediction has shape \(3,\), reference has \(2,\)"):
        mahalanobis([True, False], [True, False, True])
