"""Metrics on examples small enough to work out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from segjury.metrics import (
    READINGS,
    agreement_dsc,
    confidence,
    crps,
    dsc,
    ece,
    mr_ece,
    thr_dsc,
    vi,
)
from segjury.metrics.calibration import (
    CalibrationHistogram,
    calibration_histogram,
    ece_per_rater,
    last_edges,
)
from segjury.metrics.invasion import (
    invasion_angles,
    pack_bits,
    sample_distance,
    vessel_edges,
)
from segjury.metrics.overlap import threshold_levels
from tests.benchmark_files import golden_pdacvi


def row(*values):
    return np.array(values)[None, None, :]


def test_dice_by_hand():
    assert dsc(row(1, 1, 1, 0), row(0, 1, 1, 1)) == pytest.approx(4 / 6)


def test_a_tie_at_one_half_predicts_background():
    for reading in READINGS:
        nobody = mr_ece([row(1, 0, 0)], row(0.0, 0.5, 0.0).astype(np.float32), reading=reading)
        # three voxels: 1 at p = 0 is missed (error 1), 0.5 against 0 errs by 0.5, 0 is right
        assert nobody == pytest.approx((1.0 + 0.5) / 3, abs=1e-6)
        found = mr_ece([row(1, 1, 0)], row(1.0, 0.5, 0.0).astype(np.float32), reading=reading)
        assert found == pytest.approx(0.5 / 3, abs=1e-6)  # background is wrong: |0 - 0.5|


@pytest.mark.parametrize("reading", ["published", "corrected"])
def test_a_confidence_on_a_bin_edge_belongs_to_the_upper_bin(reading):
    # 0.58 begins the bin [0.58, 0.60); 0.58 * 50 is a little less than 29 in floating point
    assert math.floor(0.58 * 50) == 28
    p = row(0.58, 0.575)
    # 0.58 right, 0.575 wrong: in bins of their own the errors add up instead of cancelling
    assert mr_ece([row(1, 0)], p, reading=reading) == pytest.approx((0.42 + 0.575) / 2)


@pytest.mark.parametrize("bins", [1, 3, 7, 50, 999])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_every_confidence_falls_into_the_bin_that_a_search_finds(bins, precision):
    edges = np.linspace(0, 1, bins + 1, dtype=precision)
    near = [np.nextafter(edges, precision(2)), np.nextafter(edges, precision(-1))]
    values = np.clip(np.concatenate([edges, *near]), 0, 1)
    expected = np.searchsorted(edges, values, "right") - 1
    assert np.array_equal(last_edges(edges, values), expected)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_levels_are_those_that_a_search_finds(precision):
    cuts = np.linspace(0.1, 0.8, 6)
    at = cuts.astype(precision)
    values = np.concatenate([at, np.nextafter(at, precision(1)), np.nextafter(at, precision(0))])
    assert np.array_equal(threshold_levels(values, cuts), np.searchsorted(cuts, values))


def test_confidence_one_has_a_bin_of_its_own_in_the_released_form_only():
    p = row(1.0, 0.99).astype(np.float32)
    raters = [row(1, 0)]  # the certain voxel is right, the other wrong
    assert mr_ece(raters, p, reading="released") == pytest.approx(0.99 / 2, abs=1e-6)
    assert mr_ece(raters, p, reading="corrected") == pytest.approx(abs(1 - 1.99) / 2, abs=1e-6)


def test_equal_volumes_whatever_their_rounding():
    rng = np.random.default_rng(0)
    for _ in range(300):
        volumes = np.full(5, rng.integers(1, 10**5)) * rng.uniform(0.1, 20) / 1000
        assert math.isnan(crps(volumes, 1.0, reading="published"))
        assert crps(volumes, 2 * volumes[0], reading="released") == 0
        assert crps(volumes, 2 * volumes[0]) == volumes[0]


def test_the_published_step_counts_its_own_point():
    # a prediction on the first grid point: H is 1 from there on, so only 1 - F remains
    from scipy.stats import norm

    volumes = np.array([1.0, 3.0])  # mean 2, SD 1
    x = np.linspace(norm.ppf(0.01, 2, 1), norm.ppf(0.99, 2, 1), 100)
    expected = (x[1] - x[0]) * ((norm.cdf(x, 2, 1) - 1) ** 2).sum()
    assert crps(volumes, x[0], reading="published") == pytest.approx(expected)


def test_far_volumes_saturate_in_the_released_form_only():
    volumes = [10.0, 12.0, 14.0]
    assert crps(volumes, 50.0, reading="released") == crps(volumes, 500.0, reading="released")
    assert crps(volumes, 500.0) > crps(volumes, 50.0) + 400


def test_crps_is_the_integral():
    from scipy.integrate import quad
    from scipy.stats import norm

    volumes, v = np.array([8.0, 10.0, 15.0]), 13.0
    mean, sd = volumes.mean(), volumes.std()
    below = quad(lambda y: norm.cdf(y, mean, sd) ** 2, -100, v)[0]
    above = quad(lambda y: (norm.cdf(y, mean, sd) - 1) ** 2, v, 150)[0]
    assert crps(volumes, v) == pytest.approx(below + above, rel=1e-7)


def test_a_ring_around_a_vessel():
    vessel = np.zeros((9, 9, 1), bool)
    vessel[3:6, 3:6] = True
    ring = np.zeros((9, 9, 1), bool)
    ring[2:7, 2:7] = True
    ring[3:6, 3:6] = False
    angles = invasion_angles(vessel_edges(vessel), pack_bits(ring[None]), 1)
    assert angles.overlap[2, 0] == 360.0  # all eight edge pixels touch the ring
    half = ring.copy()
    half[4:] = False  # only the part with small x is left
    angles = invasion_angles(vessel_edges(vessel), pack_bits(half[None]), 1)
    # of eight edge pixels, the three of the row x = 3 touch it
    assert angles.overlap[2, 0] == pytest.approx(360 * 3 / 8)


def test_a_vessel_that_is_not_there_is_undefined():
    nothing = np.zeros((3, 4, 5), bool)
    for reading in ("published", "corrected"):
        assert math.isnan(vi(nothing, [nothing], nothing.astype(float), reading=reading))
    assert vi(nothing, [nothing], nothing.astype(float), reading="released") == 0


def lesion_in_noise(shape=(30, 29, 31), seed=0):
    """A small lesion of two raters off the middle, and a map that is never sure of anything."""
    raters = np.zeros((2, *shape), bool)
    raters[:, 4:7, 20:24, 14:16] = raters[0, 7, 20, 14] = True
    return raters, np.random.default_rng(seed).random(shape)


def ece_in(box, raters, p, bins=50):
    """ECE in a box, mean over the raters, by numpy's histograms."""
    inside, confidence = p[box], np.maximum(p[box], 1 - p[box])
    edges = np.arange(bins + 1) / bins
    sums, _ = np.histogram(confidence, edges, weights=confidence)
    errors = []
    for rater in raters:
        right = (inside > 0.5) == rater[box]
        hits, _ = np.histogram(confidence, edges, weights=right.astype(float))
        errors.append(np.abs(hits - sums).sum() / inside.size)
    return np.mean(errors)


def test_the_box_of_calibration_in_each_reading():
    raters, p = lesion_in_noise()
    # marks from 4 to 7, 20 to 23 and 14 to 15; the volume ends at 30, 29 and 31
    both_sides = np.s_[0:13, 15:29, 9:21]
    one_less = np.s_[0:12, 15:28, 9:20]
    found = {r: mr_ece(raters, p, padding_voxels=5, reading=r) for r in READINGS}
    assert found["corrected"] == pytest.approx(ece_in(both_sides, raters, p), rel=1e-12)
    assert found["published"] == pytest.approx(ece_in(one_less, raters, p), rel=1e-12)


@pytest.mark.parametrize("case", golden_pdacvi(), ids=lambda case: case.name)
def test_calibration_near_the_lesion_of_whole_cases(case):
    raters, p = case.arrays["annotations"] > 0, case.arrays["probability"].astype(float)
    marked = np.argwhere(raters.any(axis=0))
    low, high = np.maximum(marked.min(axis=0) - 20, 0), marked.max(axis=0) + 20
    for reading, more in (("published", 0), ("corrected", 1)):
        box = tuple(map(slice, low, high + more))
        assert mr_ece(raters, p, reading=reading) == pytest.approx(ece_in(box, raters, p), rel=1e-9)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("padding_voxels", [0, 1, 5, 20])
def test_calibration_near_a_lesion_is_the_same_in_the_mirror(axis, padding_voxels):
    raters, p = lesion_in_noise()
    found = [
        mr_ece(*given, padding_voxels=padding_voxels)
        for given in ((raters, p), (np.flip(raters, axis + 1), np.flip(p, axis)))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize("metric", [thr_dsc, mr_ece])
def test_another_grid_is_refused(metric):
    with pytest.raises(ValueError, match=r"probability has shape \(1, 1, 4\)"):
        metric([row(1, 0, 0)], row(0.1, 0.2, 0.3, 0.4))


def test_an_unknown_reading_is_refused():
    mask, p = row(1, 0, 1), row(0.5, 0.1, 0.2)
    calls = (
        lambda: dsc(mask, mask, reading="correct"),
        lambda: thr_dsc([mask], p, reading="correct"),
        lambda: mr_ece([mask], p, reading="correct"),
        lambda: crps([1.0, 2.0], 3.0, reading="correct"),
        lambda: vi(mask, [mask], p, reading="correct"),
    )
    for call in calls:
        with pytest.raises(ValueError, match="reading is 'correct'"):
            call()


@pytest.mark.parametrize("seed", range(20))
def test_the_distance_of_samples_is_scipys(seed):
    from scipy.stats import wasserstein_distance

    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rng.integers(1, 7)) * 90.0
    b = rng.uniform(0, 360, rng.integers(1, 7))
    assert sample_distance(a, b) == pytest.approx(wasserstein_distance(a, b), abs=1e-10)
    assert sample_distance(a, a) == 0


# ---- calibration of several classes, by hand -----------------------------------------------


def test_ece_of_three_classes_by_hand():
    # Four voxels, all sure of the second class: 0.7 in the bin from 0.7. Rater 1 agrees on three.
    labels = np.array([[1, 1, 1, 2], [1, 1, 1, 1]])[:, None, None, :]
    first = row(0.7, 0.7, 0.7, 0.7)
    probabilities = np.stack([first, 1 - first - 0.1])
    expected = (abs(0.75 - 0.7) + abs(1.0 - 0.7)) / 2
    for reading in ("released", "published", "corrected"):
        assert ece(labels, probabilities, reading=reading) == pytest.approx(expected, abs=1e-6)


def test_a_tie_predicts_the_background_then_the_first_class():
    labels = row(0, 1)[None]
    tied = np.stack([row(0.5, 0.4), row(0.0, 0.4)])  # background 0.5 and 0.2
    # both are right: confidence 0.5 and 0.4
    assert ece(labels, tied) == pytest.approx((0.5 + 0.6) / 2)


def test_probabilities_that_sum_to_more_than_one_leave_nothing_to_the_background():
    labels = row(1, 1)[None]
    too_much = np.stack([row(0.9, 0.9), row(0.8, 0.8)])
    assert ece(labels, too_much) == pytest.approx(0.1)


def test_released_counts_stop_where_a_float32_does():
    # 40 million certain background voxels, of which the rater calls 10 million foreground: the
    # hits and the confidences both stop at 2^24, so that nothing seems wrong.
    voxels = np.zeros((2, 2, 51), np.int64)
    voxels[0, 0, 50], voxels[1, 0, 50] = 30_000_000, 10_000_000
    confidence = np.zeros(51)
    confidence[50] = 40_000_000
    histogram = CalibrationHistogram(voxels, confidence)
    labels = np.array([[0], [1]])
    assert ece_per_rater(histogram, labels, reading="released") == 0
    assert ece_per_rater(histogram, labels, reading="corrected") == 0.25
    assert np.float32(2**24) + np.float32(1) == np.float32(2**24)  # why


def test_released_sums_depend_on_the_order_as_float32_sums_do():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.98, 0.9999, 200_000).astype(np.float32)
    codes = np.zeros(p.size, np.uint8)
    histogram = calibration_histogram(codes, [p], 1, reading="released")
    in_turn = np.float32(0)
    for value in p / (p + np.maximum(1 - p, np.float32(1e-8))):
        in_turn += value
    assert histogram.confidence[49] == in_turn
    assert abs(in_turn - p.sum(dtype=float)) > 1  # which is the defect


# ---- where the raters agree, by hand -------------------------------------------------------


def test_dissensus_does_not_count():
    raters = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0]])[:, :, None, None]
    prediction = np.array([1, 0, 1, 1, 1, 0])[:, None, None]  # one of two right, one added
    assert agreement_dsc(raters, prediction) == pytest.approx(2 * 1 / (2 + 2))


def test_the_released_form_is_a_mean_over_rows():
    foreground = np.zeros((4, 3, 2), bool)
    foreground[:, 1, 0] = foreground[:2, 2, 0] = foreground[0, 1, 1] = True
    foreground[:, 0, 1] = True  # row 0 is dropped
    prediction = np.zeros_like(foreground)
    prediction[:2, 1, 0] = prediction[:2, 2, 0] = True
    # slice 0: rows 2/3 and 1, slice 1: its one row is missed
    expected = ((2 * 2 / 6 + 1) / 2 + 0) / 2
    assert agreement_dsc([foreground], prediction, reading="released") == pytest.approx(expected)
    volumetric = 2 * 4 / (11 + 4)
    assert agreement_dsc([foreground], prediction) == pytest.approx(volumetric)


def test_nothing_to_agree_on():
    nothing = np.zeros((2, 2, 2), bool)
    assert agreement_dsc([nothing], nothing) == 1
    assert math.isnan(agreement_dsc([nothing], nothing, reading="published"))
    assert agreement_dsc([nothing], nothing, reading="released") == 0
    assert math.isnan(confidence([nothing], nothing.astype(float)))


def test_confidence_by_hand():
    raters = [row(1, 1, 0, 0), row(1, 0, 0, 0)]
    assert confidence(raters, row(0.8, 0.1, 0.2, 0.4)) == pytest.approx((1 - 0.3 + 0.8) / 2)
