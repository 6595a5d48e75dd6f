"""Topology: Betti numbers against GUDHI, clDice by hand, recall on tubes of known diameter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.morphology import skeletonize

from segjury.arrays import coordinates, nonzero_voxels
from segjury.metrics.geometry.calibre import calibre_mm
from segjury.metrics.geometry.thinning import skeleton_voxels
from segjury.metrics.topology import (
    BettiNumbers,
    betti,
    betti_numbers,
    cldice,
    radius_recall,
    small_recall,
)
from tests.tubes import blob, gudhi_numbers, masks, moves, tube

THINNINGS = ("lee", "topology-preserving")


# ---- Betti numbers -------------------------------------------------------------------------


@settings(max_examples=100)
@given(mask=masks)
def test_betti_numbers_are_those_of_gudhi(mask):
    assert betti_numbers(mask) == gudhi_numbers(mask)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_betti_numbers_of_noise_are_those_of_gudhi(share):
    mask = np.random.default_rng(round(10 * share)).random((23, 17, 11)) < share
    assert betti_numbers(mask) == gudhi_numbers(mask)
    assert betti_numbers(np.asfortranarray(mask)) == gudhi_numbers(mask)


def test_betti_numbers_of_drawn_shapes():
    solid = np.ones((5, 5, 5), bool)
    ring = np.ones((3, 3, 1), bool)
    ring[1, 1] = False
    shell = np.ones((3, 3, 3), bool)
    shell[1, 1, 1] = False
    open_shell = shell.copy()
    open_shell[1, 1, 2] = False
    at_a_corner = np.eye(2, dtype=bool)[:, :, None] & np.eye(2, dtype=bool)[:, None, :]
    assert betti_numbers(solid) == BettiNumbers(1, 0, 0)
    assert betti_numbers(ring) == BettiNumbers(1, 1, 0)
    assert betti_numbers(shell) == BettiNumbers(1, 0, 1)
    assert betti_numbers(open_shell) == BettiNumbers(1, 0, 0)
    assert betti_numbers(at_a_corner) == BettiNumbers(1, 0, 0)
    assert betti_numbers(np.zeros((4, 4, 4))) == BettiNumbers(0, 0, 0)
    assert betti_numbers(np.ones((1, 1, 1))) == BettiNumbers(1, 0, 0)


def test_cavities_that_meet_at_an_edge_are_two():
    mask = np.ones((4, 4, 3), bool)
    mask[1, 1, 1] = mask[2, 2, 1] = False
    assert betti_numbers(mask) == BettiNumbers(1, 0, 2)


def test_betti_error_by_hand():
    ring = np.zeros((9, 9, 3), bool)
    ring[1:4, 1:4, 1] = True
    ring[2, 2, 1] = False
    broken_in_two = ring.copy()
    broken_in_two[1:4, 2, 1] = False
    assert betti(ring, broken_in_two) == 2.0  # one component more, one tunnel less
    assert betti(broken_in_two, ring) == 2.0
    assert betti(ring, np.zeros_like(ring)) == 2.0
    assert betti(ring, ring) == 0.0


def test_betti_numbers_feel_no_flip():
    mask = np.random.default_rng(3).random((9, 7, 5)) < 0.4
    assert {betti_numbers(move(mask)) for move in moves()} == {betti_numbers(mask)}


def test_erosion_can_mend_the_betti_error():
    mask = np.zeros((30, 15, 15), bool)
    x, y, z = np.indices(mask.shape)
    mask |= (x - 7) ** 2 + (y - 7) ** 2 + (z - 7) ** 2 <= 36
    mask |= (x - 22) ** 2 + (y - 7) ** 2 + (z - 7) ** 2 <= 9
    mask[7:22, 7, 7] = True
    errors = [betti(mask, ndimage.binary_erosion(mask, iterations=k)) for k in range(1, 5)]
    assert errors == [1.0, 1.0, 1.0, 0.0]  # the bridge breaks, then the smaller ball is gone


# ---- clDice --------------------------------------------------------------------------------


def line(*stretch, y=5):
    mask = np.zeros((24, 12, 3), bool)
    mask[slice(*stretch), y, 1] = True
    return mask


@pytest.mark.parametrize("thinning", THINNINGS)
def test_cldice_by_hand(thinning):
    reference = line(0, 20)
    false = line(0, 20) | line(0, 20, y=9)
    assert cldice(reference, reference, thinning=thinning) == 1.0
    assert cldice(reference, line(0, 10), thinning=thinning) == pytest.approx(2 / 3)
    assert cldice(reference, false, thinning=thinning) == pytest.approx(2 / 3)
    assert cldice(reference, line(10, 20) | line(0, 10, y=9), thinning=thinning) == 0.5
    assert cldice(reference, line(0, 20, y=9), thinning=thinning) == 0.0


@pytest.mark.parametrize("thinning", THINNINGS)
def test_cldice_looks_only_at_centrelines(thinning):
    wide = np.zeros((24, 12, 7), bool)
    wide[2:22, 3:8, 1:6] = True
    middle = np.zeros_like(wide)
    middle[2:22, 5, 3] = True
    assert cldice(wide, middle, thinning=thinning) == 1.0
    assert cldice(middle, wide, thinning=thinning) == 1.0


@pytest.mark.parametrize("thinning", THINNINGS)
def test_cldice_of_an_empty_mask_is_undefined(thinning):
    nothing = np.zeros((24, 12, 3), bool)
    for reference, prediction in itertools.product((nothing, line(0, 20)), repeat=2):
        undefined = not (reference.any() and prediction.any())
        assert math.isnan(cldice(reference, prediction, thinning=thinning)) == undefined


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_cldice_is_the_formula_on_scikit_images_skeletons(seed):
    reference, prediction = blob(seed), blob(seed + 1, share=0.4)
    precision = reference[skeletonize(prediction)].mean()
    sensitivity = prediction[skeletonize(reference)].mean()
    expected = 2 * precision * sensitivity / (precision + sensitivity)
    assert cldice(reference, prediction) == pytest.approx(expected, rel=1e-12)
    assert cldice(prediction, reference) == pytest.approx(expected, rel=1e-12)


def test_only_the_usual_thinning_loses_a_vessel_two_voxels_wide():
    vessel = np.zeros((24, 6, 6), bool)
    vessel[2:22, 2:4, 2:4] = True
    assert not skeletonize(vessel).any()
    assert math.isnan(cldice(vessel, vessel))
    assert cldice(vessel, vessel, thinning="topology-preserving") == 1.0


@pytest.mark.parametrize("thinning", THINNINGS)
def test_cldice_moves_little_with_the_orientation(thinning):
    narrow = tube(3, (3, -1, 1), size=40, length=30)
    reference = tube(5, (1, 2, 3), size=40, length=30) | narrow
    prediction = tube(4, (1, 2, 3), size=40, length=30, offset=0.3) | narrow
    some = list(moves())[::4]
    values = [cldice(move(reference), move(prediction), thinning=thinning) for move in some]
    assert np.ptp(values) < 0.03


def test_masks_must_share_a_grid():
    with pytest.raises(ValueError, match=r"prediction has shape \(2, 2, 3\)"):
        betti(np.ones((2, 2, 2)), np.ones((2, 2, 3)))
    with pytest.raises(ValueError, match="mask has 4 axes, expected 3"):
        betti_numbers(np.ones((2, 2, 2, 2)))


# ---- recall by calibre ---------------------------------------------------------------------


def diameters(mask, spacing_mm=(1.0, 1.0, 1.0)):
    voxels = nonzero_voxels(np.asfortranarray(mask))
    thin = skeleton_voxels(voxels, mask.shape)
    return thin, calibre_mm(voxels, thin, mask.shape, spacing_mm=spacing_mm)


@pytest.mark.parametrize(
    ("width", "area"), [(1, 1), (2, 4), (3, 9), (4, 12), (5, 21), (7, 37), (9, 69)]
)
def test_calibre_of_straight_tubes_has_the_area_of_their_section(width, area):
    middle = 0.0 if width % 2 else 0.5
    for axis in range(3):
        direction = np.eye(3)[axis]
        mask = tube(width, direction, offset=middle * (1 - direction))
        assert np.count_nonzero(mask.take(26, axis)) == area
        _, diameter = diameters(mask)
        assert np.median(diameter) == pytest.approx(2 * math.sqrt(area / math.pi))


@pytest.mark.parametrize("width", [2, 3, 4, 5, 7])
def test_calibre_of_tubes_in_all_directions(width):
    rng = np.random.default_rng(width)
    found = [
        diameters(tube(width, rng.normal(size=3), offset=rng.uniform(-0.5, 0.5, 3)))[1]
        for _ in range(6)
    ]
    assert np.median(np.concatenate(found)) == pytest.approx(width, rel=0.03)


@pytest.mark.parametrize(("width", "group"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 2)])
def test_tubes_fall_into_their_class(width, group):
    rng = np.random.default_rng(10 + width)
    middle = 0.0 if width % 2 else 0.5
    along = [tube(width, np.eye(3)[k], offset=middle * (1 - np.eye(3)[k])) for k in range(3)]
    askew = [tube(max(width, 1.74), rng.normal(size=3)) for _ in range(4)]  # 1.74: no gaps
    for mask in along:
        found = radius_recall(mask, mask)
        assert found.centreline_voxels[group] >= 0.9 * sum(found.centreline_voxels)  # but ends
    askew_voxels = np.sum([radius_recall(mask, mask).centreline_voxels for mask in askew], axis=0)
    assert askew_voxels[group] >= 0.9 * askew_voxels.sum()


def test_a_narrow_branch_is_wide_only_inside_the_vessel_it_leaves():
    x, y, z = np.indices((60, 30, 40))
    mask = ((x - 15) ** 2 + (y - 15) ** 2 <= 36) | ((y == 15) & (z == 20) & (x >= 15) & (x < 55))
    thin, diameter = diameters(mask)
    at_x = coordinates(thin, mask.shape)[0]
    assert (diameter[at_x < 21] > 4.5).all()
    assert (diameter[at_x > 22] < 2.5).all()


def test_recall_by_calibre_by_hand():
    x, y, z = np.indices((40, 40, 20))
    wide = ((y - 10) ** 2 + (z - 10) ** 2 <= 16) & (x >= 2) & (x < 38)
    narrow = (y == 30) & (z == 10) & (x >= 2) & (x < 38)
    found = radius_recall(wide | narrow, wide | (narrow & (x < 11)))
    assert found.recall[0] == 0.25
    assert found.centreline_voxels[0] == 36
    assert math.isnan(found.recall[1])
    assert found.recall[2] == 1.0
    assert small_recall(wide | narrow, wide) == 0.0
    assert small_recall(wide | narrow, narrow) == 1.0
    assert math.isnan(small_recall(wide, wide))
    assert math.isnan(small_recall(np.zeros_like(wide), wide))
    assert small_recall(wide | narrow, np.zeros_like(wide)) == 0.0


@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_eroding_the_prediction_never_raises_small_recall(seed):
    reference = blob(seed, share=0.1) | tube(2, (1, 2, 3), size=20)
    scores = [small_recall(reference, reference)]
    prediction = reference
    while prediction.any():
        prediction = ndimage.binary_erosion(prediction)
        scores.append(small_recall(reference, prediction))
    assert scores[0] == 1.0
    assert (np.diff(scores) <= 0).all()


def test_an_unknown_thinning_is_refused():
    mask = np.ones((3, 3, 3), bool)
    with pytest.raises(ValueError, match="thinning is 'thin', expected one of lee, topology"):
        cldice(mask, mask, thinning="thin")
