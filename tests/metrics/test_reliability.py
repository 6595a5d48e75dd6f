"""Calibration errors against all raters together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.calibration import calibration_curve

from segjury.metrics import (
    ace,
    adaptive_ece,
    boundary_ece,
    classwise_ece,
    mce,
    mr_ece,
    pooled_ece,
)
from tests.metrics import brute_force
from tests.metrics.panels import row, scene

seeds = st.integers(0, 10_000)
few = settings(max_examples=25, deadline=None)
bins_of = st.sampled_from([1, 2, 7, 50])
POOLED = [pooled_ece, adaptive_ece, ace, mce]
pooled = pytest.mark.parametrize("score", POOLED)


@few
@given(seed=seeds, bins=bins_of)
def test_pooled_ece_as_defined(seed, bins):
    raters, p = scene(seed)
    expected = brute_force.ece(raters, p, bins)
    assert pooled_ece(raters, p, bins=bins) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@few
@given(seed=seeds, bins=bins_of)
def test_average_and_maximum_error_of_the_bins_as_defined(seed, bins):
    raters, p = scene(seed)
    errors = brute_force.bin_errors(raters, p, bins)
    assert ace(raters, p, bins=bins) == pytest.approx(np.mean(errors), rel=1e-12, abs=1e-15)
    assert mce(raters, p, bins=bins) == pytest.approx(max(errors), rel=1e-12, abs=1e-15)


@few
@given(seed=seeds, bins=st.sampled_from([1, 2, 7, 15, 90]))
def test_adaptive_ece_as_defined(seed, bins):
    raters, p = scene(seed)
    expected = brute_force.adaptive_ece(raters, p, bins)
    assert adaptive_ece(raters, p, bins=bins) == pytest.approx(expected, rel=1e-11, abs=1e-14)


@few
@given(seed=seeds)
def test_one_rater_has_the_bins_of_scikit_learn(seed):
    raters, p = scene(seed)
    p = np.where(np.isclose(p * 10 % 1, 0), p / 2 + 0.003, p)  # it puts what is on an edge below
    truth, said = calibration_curve(raters[0].ravel(), p.ravel().astype(float), n_bins=10)
    errors = np.abs(truth - said)
    assert ace(raters[:1], p, bins=10) == pytest.approx(errors.mean(), rel=1e-9, abs=1e-12)
    assert mce(raters[:1], p, bins=10) == pytest.approx(errors.max(), rel=1e-9, abs=1e-12)


def test_equal_bins_of_scikit_learn_where_no_value_is_there_twice():
    rng = np.random.default_rng(0)
    rater, p = rng.random((1, 5, 5, 4)) < 0.4, rng.random((5, 5, 4))
    truth, said = calibration_curve(rater.ravel(), p.ravel(), n_bins=20, strategy="quantile")
    assert adaptive_ece(rater, p, bins=20) == pytest.approx(np.abs(truth - said).mean(), rel=1e-12)


def test_hits_are_pooled_before_the_difference_is_taken():
    raters = [row(1, 1, 0, 0), row(0, 0, 1, 1)]
    assert pooled_ece(raters, row(0.5, 0.5, 0.5, 0.5)) == 0
    # one bin, of which half is marked; three voxels in it would hold 1.5 marks
    assert pooled_ece(raters, row(0.9, 0.9, 0.9, 0.9)) == pytest.approx(0.4)


def test_values_on_an_edge_belong_to_the_upper_bin():
    p = row(0.25, 0.25, 0.5, 1.0)
    # bins from 0.25 and 0.5 hold two voxels of error 0.75 and one of 0.5, the last holds 1
    assert pooled_ece([row(1, 1, 1, 1)], p, bins=4) == pytest.approx((1.5 + 0.5) / 4)
    assert ace([row(1, 1, 1, 1)], p, bins=4) == pytest.approx((0.75 + 0.5 + 0) / 3)
    assert mce([row(1, 1, 1, 1)], p, bins=4) == 0.75


def test_equally_probable_voxels_are_divided_among_the_bins():
    # Three voxels for two bins: the one in the middle is cut; all of one value, it does not matter.
    assert adaptive_ece([row(1, 0, 0)], row(0.4, 0.4, 0.4), bins=2) == pytest.approx(1 / 15)
    # 0.1 right by 0.1, the half of 0.4 wrong by 0.3; the other half, and 0.9 right by 0.1
    expected = (abs(-0.1 + 0.6 / 2) + abs(0.6 / 2 + 0.1)) / 3
    assert adaptive_ece([row(0, 1, 1)], row(0.1, 0.4, 0.9), bins=2) == pytest.approx(expected)


@pooled
@few
@given(seed=seeds)
def test_the_share_of_the_raters_has_no_error(score, seed):
    raters, _ = scene(seed)
    assert score(raters, raters.mean(axis=0)) == pytest.approx(0, abs=1e-14)


@pooled
@few
@given(seed=seeds, surer=st.floats(0.05, 1))
def test_over_confidence_does_not_pay(score, seed, surer):
    raters, _ = scene(seed)
    share = raters.mean(axis=0)
    sure = np.where(share == 0.5, 0.5, share + surer * ((share > 0.5) - share))
    assert score(raters, share) <= score(raters, sure) + 1e-14


def test_the_error_against_each_rater_rewards_over_confidence():
    """What `pooled_ece` is for: p = 0.6 where three of five raters mark a region."""
    raters = np.zeros((5, 30, 30, 30), bool)
    raters[:, 10:20, 10:20, 10:20] = True
    raters[3:, 10:20, 10:20, 14:20] = False
    share = raters.mean(axis=0)
    sure = (share > 0.5).astype(float)
    assert mr_ece(raters, sure) < mr_ece(raters, share)
    assert pooled_ece(raters, share) == pytest.approx(0, abs=1e-15)
    assert pooled_ece(raters, sure) == pytest.approx(0.4 * 600 / 30**3)


@pooled
def test_the_order_of_the_voxels_does_not_matter(score):
    raters, p = scene(3, (6, 6, 6))
    order = np.random.default_rng(0).permutation(p.size)
    moved = raters.reshape(len(raters), -1)[:, order], p.ravel()[order]
    assert score(raters, p) == score(*moved)


@pooled
def test_negative_zeros_and_tiny_numbers_are_numbers(score):
    raters = [row(0, 0, 1, 0, 1, 1)]
    for dtype, tiny in ((np.float32, 1e-45), (np.float64, 5e-324)):
        p = np.array([-0.0, 0.0, tiny, 0.3, 0.3, 1.0], dtype)[None, None]
        expected = score(raters, np.abs(np.where(p < 0.1, 0, p)), bins=3)
        assert score(raters, p, bins=3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16])
def test_maps_of_other_types(dtype):
    raters, p = [row(0, 1, 1)], row(1, 0, 1).astype(dtype)
    assert pooled_ece(raters, p) == pytest.approx(1 / 3 * 0 + (1 + 1) / 3)


def test_an_image_of_no_voxel_is_undefined():
    for score in POOLED:
        assert math.isnan(score(np.zeros((2, 0, 3, 3), bool), np.zeros((0, 3, 3))))


# ---- several labels ------------------------------------------------------------------------------


def test_classwise_ece_is_the_mean_over_the_labels():
    rng = np.random.default_rng(1)
    labels, maps = rng.integers(0, 3, (3, 4, 4, 4)), rng.dirichlet([1, 1, 1], (4, 4, 4))
    maps = np.moveaxis(maps, -1, 0)[1:]
    expected = [brute_force.ece(labels == label, maps[label - 1], 10) for label in (1, 2)]
    assert classwise_ece(labels, maps, bins=10) == pytest.approx(np.mean(expected), rel=1e-12)


# ---- near the outlines ---------------------------------------------------------------------------


def outlines(raters):
    """Voxels on one side of some rater's outline, with a face neighbour on the other."""
    edges = np.zeros(raters.shape[1:], bool)
    for rater in raters:
        for axis in range(3):
            for step in (-1, 1):
                other = np.roll(rater, step, axis)
                wrapped = [slice(None)] * 3
                wrapped[axis] = 0 if step == 1 else -1
                other[tuple(wrapped)] = rater[tuple(wrapped)]
                edges |= rater != other
    return edges


@pytest.mark.parametrize("band_mm", [0, 0.9, 2, 4.5, 100])
@pytest.mark.parametrize("seed", range(3))
def test_boundary_ece_counts_the_voxels_near_an_outline(band_mm, seed):
    rng, spacing_mm = np.random.default_rng(seed), (0.7, 1.0, 2.5)
    noise = ndimage.gaussian_filter(rng.normal(size=(14, 12, 10)), 2)
    raters = np.stack([noise + rng.normal(0, 0.02) > 0.08 for _ in range(3)])
    p = rng.random((14, 12, 10))
    far = ndimage.distance_transform_edt(~outlines(raters), sampling=spacing_mm)
    here = far <= band_mm + 1e-9
    expected = brute_force.ece(raters[:, here], p[here], 20)
    found = boundary_ece(raters, p, spacing_mm=spacing_mm, band_mm=band_mm, bins=20)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_band_wider_than_any_step_can_be_tried():
    raters, p = np.zeros((1, 3, 90, 90), bool), np.full((3, 90, 90), 0.5)
    raters[0, 1, 40:50, 40:50] = True
    near = np.ones((3, 90, 90), bool)
    far = ndimage.distance_transform_edt(~outlines(raters))
    near = far <= 35
    expected = brute_force.ece(raters[:, near], p[near], 5)
    assert boundary_ece(raters, p, band_mm=35, bins=5) == pytest.approx(expected, rel=1e-12)
    whole = boundary_ece(raters, p, band_mm=1e300, bins=5)
    assert whole == pytest.approx(pooled_ece(raters, p, bins=5), rel=1e-12)


def test_an_outline_at_the_border_of_the_image_is_none():
    assert math.isnan(boundary_ece(np.ones((2, 4, 4, 4)), np.full((4, 4, 4), 0.5)))
    assert math.isnan(boundary_ece(np.zeros((2, 4, 4, 4)), np.full((4, 4, 4), 0.5)))
    half = np.zeros((1, 4, 4, 4), bool)
    half[:, :2] = True
    assert boundary_ece(half, np.zeros((4, 4, 4)), band_mm=0) == 0.5  # two planes, one marked


def test_the_band_does_not_follow_the_map():
    raters = np.zeros((1, 20, 3, 3), bool)
    raters[0, 5:8] = True
    p = raters[0].astype(float)
    p[15] = 1
    assert boundary_ece(raters, p, band_mm=2) == 0 < pooled_ece(raters, p)


def test_a_negative_band_is_refused():
    with pytest.raises(ValueError, match="band_mm is -1, expected 0 or more"):
        boundary_ece([row(0, 1)], row(0, 1), band_mm=-1)
