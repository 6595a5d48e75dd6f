"""Images of one slice, and in 2D: every metric works in the dimension that the image has."""

from __future__ import annotations

import math

import numpy as np
import pytest
import SimpleITK as sitk
from scipy import ndimage
from scipy.spatial.distance import cdist
from skimage.measure import euler_number, label
from skimage.morphology import skeletonize

from segjury import metrics
from segjury.arrays import nonzero_voxels
from segjury.images.grid import Grid
from segjury.metrics.geometry import morphometry
from segjury.metrics.geometry.calibre import calibre_mm
from segjury.metrics.geometry.dimension import stood_up, three_spacings
from segjury.metrics.geometry.skeleton import branch_count, centreline_length_mm
from segjury.metrics.geometry.surfaces.outline import corner_patterns, edge_voxels
from segjury.metrics.geometry.thinning import skeleton
from segjury.metrics.topology import BettiNumbers, betti_numbers, radius_recall
from segjury.raters.displacement import Boundary, boundary_mm

SPACING_MM = (0.7, 1.3)
THICK_MM = 5.0  # of the slice, which must not matter
WAYS = ("2D", "x", "y", "z")


def laid(array, way):
    """An image in 2D, or as one slice across an axis."""
    return array if way == "2D" else np.expand_dims(array, "xyz".index(way))


def spacing(way):
    if way == "2D":
        return SPACING_MM
    return tuple(np.insert(SPACING_MM, "xyz".index(way), THICK_MM).tolist())


def square(size, image=6):
    """A square in the middle of an image."""
    mask = np.zeros((image, image), bool)
    start = (image - size) // 2
    mask[start : start + size, start : start + size] = True
    return mask


def blob(seed, shape=(23, 31)):
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=shape), 1.5)
    return noise > 0.05


each_way = pytest.mark.parametrize("way", WAYS)
each_seed = pytest.mark.parametrize("seed", range(4))


# ---- outlines by hand -------------------------------------------------------------------------


@each_way
def test_a_square_and_the_smaller_one_in_it_by_hand(way):
    large, small = laid(square(4), way), laid(square(2), way)
    # Lengths: 12 sides and 4 cut corners of √2/2, and 4 and 4. All elements are 1 apart from the
    # other outline, but the corners of the large square, which are √2.
    length = (12 + 2 * math.sqrt(2)) + (4 + 2 * math.sqrt(2))
    assert metrics.assd(large, small) == pytest.approx((12 + 4 + 4 + 2 * math.sqrt(2)) / length)
    assert metrics.assd(large, small) == pytest.approx(1.0541, abs=1e-4)
    assert metrics.nsd(large, small, tolerance_mm=0.5) == 0
    within = (length - 2 * math.sqrt(2)) / length
    assert metrics.nsd(large, small, tolerance_mm=1.0) == pytest.approx(within)
    assert metrics.hd(large, small) == pytest.approx(math.sqrt(2))
    there, back = 16 / (12 + 2 * math.sqrt(2)), 1
    assert metrics.masd(large, small) == pytest.approx((there + back) / 2)
    # 12 and 4 edge pixels: a pixel apart, but the corners
    pixels = (8 + 4 * math.sqrt(2) + 4) / 16
    assert metrics.assd(large, small, definition="edge-voxels") == pytest.approx(pixels)


@each_way
def test_a_square_that_fills_the_image_and_the_one_in_it_by_hand(way):
    large, small = laid(square(6), way), laid(square(4), way)
    for definition in ("surfel", "edge-voxels"):
        assert metrics.nsd(large, small, tolerance_mm=0.5, definition=definition) == 0
    pixels = (16 + 4 * math.sqrt(2) + 12) / (20 + 12)  # 20 edge pixels, 4 of them corners, and 12
    found = metrics.assd(large, small, definition="edge-voxels")
    assert found == pytest.approx(pixels) == pytest.approx(1.0518, abs=1e-4)
    length = (20 + 2 * math.sqrt(2)) + (12 + 2 * math.sqrt(2))
    expected = (20 + 4 + 12 + 2 * math.sqrt(2)) / length
    assert metrics.assd(large, small) == pytest.approx(expected)


def test_the_image_ends_where_its_plane_does():
    full = np.ones((5, 7), bool)
    edge = edge_voxels(nonzero_voxels(full[:, :, None]), (5, 7, 1))
    assert edge.size == 2 * (5 + 7) - 4
    corners, _ = corner_patterns(nonzero_voxels(full[:, :, None]), (5, 7, 1))
    assert corners.size == 2 * (5 + 7)


# ---- outlines by another way ------------------------------------------------------------------


def outline(mask, step):
    """Corners of pixels that the outline passes, and the length of its piece there.

    The table of surface-distance for contours: half a diagonal around one pixel in or out of the
    mask, two of them around two that touch at the corner, else the side that the outline follows.
    """
    padded = np.pad(mask, 1).astype(int)
    a, b, c, d = padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]
    diagonal = math.hypot(*step) / 2
    total = a + b + c + d
    length = np.where((total == 1) | (total == 3), diagonal, 0.0)
    length = np.where((total == 2) & (a == d), 2 * diagonal, length)
    length = np.where((total == 2) & (a == b), step[1], length)
    length = np.where((total == 2) & (a == c), step[0], length)
    return np.argwhere(length > 0) * step, length[length > 0]


def edge_pixels(mask, step):
    edge = mask & ~ndimage.binary_erosion(mask)
    return np.argwhere(edge) * step, np.ones(np.count_nonzero(edge))


def weighed_percentile(values, weights, percent):
    order = np.argsort(values)
    share = weights[order].cumsum() / weights.sum()
    return values[order][np.searchsorted(share, percent / 100 - 1e-9)]


def expected_values(reference, prediction, elements, tolerance_mm):
    (r, r_weights), (p, p_weights) = (
        elements(mask, np.array(SPACING_MM)) for mask in (reference, prediction)
    )
    apart = cdist(r, p)
    there, back = apart.min(axis=1), apart.min(axis=0)
    both, weights = np.concatenate([there, back]), np.concatenate([r_weights, p_weights])
    return {
        "nsd": weights[both <= tolerance_mm].sum() / weights.sum(),
        "hd": both.max(),
        "hd95": max(
            weighed_percentile(there, r_weights, 95), weighed_percentile(back, p_weights, 95)
        ),
        "assd": (both * weights).sum() / weights.sum(),
        "masd": (np.average(there, weights=r_weights) + np.average(back, weights=p_weights)) / 2,
    }


@each_way
@each_seed
def test_outlines_are_those_of_surface_distance(way, seed):
    pair = blob(seed), blob(seed + 100)
    expected = expected_values(*pair, outline, tolerance_mm=1.0)
    for name, value in expected.items():
        options = {"tolerance_mm": 1.0} if name == "nsd" else {}
        given = [laid(mask, way) for mask in pair]
        found = getattr(metrics, name)(*given, spacing_mm=spacing(way), **options)
        assert found == pytest.approx(value, rel=1e-9), name


@each_way
@each_seed
def test_edge_pixels_have_a_neighbour_outside_in_the_plane(way, seed):
    pair = blob(seed), blob(seed + 100)
    expected = expected_values(*pair, edge_pixels, tolerance_mm=1.0)
    given, options = [laid(mask, way) for mask in pair], {"definition": "edge-voxels"}
    step = spacing(way)
    found = metrics.nsd(*given, spacing_mm=step, tolerance_mm=1.0, **options)
    assert found == pytest.approx(expected["nsd"], rel=1e-6)
    for name in ("hd", "assd", "masd"):
        value = getattr(metrics, name)(*given, spacing_mm=step, **options)
        assert value == pytest.approx(expected[name], rel=1e-9), name


def test_a_large_plane_is_cut_as_a_volume_is():
    mask = np.zeros((2000, 1500), bool)  # more than a slab
    mask[3:1990, 4:1480] = True
    mask[600:900, 700:800] = False
    plane = mask[:, :, None]
    edge = mask & ~ndimage.binary_erosion(mask)
    np.testing.assert_array_equal(
        edge_voxels(nonzero_voxels(plane), plane.shape), nonzero_voxels(edge)
    )
    corners, _ = corner_patterns(nonzero_voxels(plane), plane.shape)
    assert corners.size == 2 * (1987 + 1476) + 2 * (300 + 100)


# ---- topology, by scikit-image ----------------------------------------------------------------


@each_way
def test_components_and_holes_by_hand(way):
    ring, diagonal = np.ones((3, 3), bool), np.eye(4, dtype=bool)
    ring[1, 1] = False
    assert betti_numbers(laid(ring, way)) == BettiNumbers(1, 1, 0)
    assert betti_numbers(laid(diagonal, way)) == BettiNumbers(1, 0, 0)
    # across the diagonal pixels touch at corners; two of it are holes, two open to the outside
    assert betti_numbers(laid(~diagonal, way)) == BettiNumbers(1, 2, 0)
    assert betti_numbers(laid(np.kron(diagonal, ring), way)).tunnels == 4


@each_way
@each_seed
def test_components_and_holes_are_those_of_scikit_image(way, seed):
    mask = np.random.default_rng(seed).random((17, 23)) < 0.6
    parts = label(mask, connectivity=2).max()
    holes = parts - euler_number(mask, connectivity=2)
    assert betti_numbers(laid(mask, way)) == BettiNumbers(parts, holes, 0)


@each_way
@each_seed
def test_lee_thinning_is_that_of_scikit_image_in_2d(way, seed):
    reference, prediction = blob(seed), blob(seed + 100)
    ours, theirs = (skeletonize(mask, method="lee") for mask in (reference, prediction))
    precision, recall = reference[theirs].mean(), prediction[ours].mean()
    found = metrics.cldice(laid(reference, way), laid(prediction, way))
    assert found == pytest.approx(2 * precision * recall / (precision + recall))


@each_way
@each_seed
def test_a_skeleton_in_the_plane_keeps_parts_and_holes(way, seed):
    mask = blob(seed)
    thin = skeleton(laid(mask, way))
    assert thin.shape == laid(mask, way).shape
    flat = thin.reshape(mask.shape)
    np.testing.assert_array_equal(flat, skeleton(mask))
    assert label(flat, connectivity=2).max() == label(mask, connectivity=2).max()
    assert euler_number(flat, connectivity=2) == euler_number(mask, connectivity=2)
    assert not (flat[:-1, :-1] & flat[1:, :-1] & flat[:-1, 1:] & flat[1:, 1:]).any()


@each_way
def test_a_skeleton_lies_in_the_middle_of_a_ribbon(way):
    ribbon = np.zeros((9, 30), bool)
    ribbon[2:7, 2:28] = True
    thin = skeleton(laid(ribbon, way)).reshape(ribbon.shape)
    assert thin[4, 5:25].all()
    assert not thin[[2, 3, 5, 6], 6:24].any()
    assert branch_count(laid(ribbon, way)) == 1


# ---- calibre and length -----------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
def test_the_calibre_of_a_ribbon_is_its_width(way, width):
    ribbon = np.zeros((12, 60), bool)
    ribbon[2 : 2 + width, 2:58] = True
    mask = laid(ribbon, way)
    shape = np.shape(np.atleast_3d(mask))
    voxels = nonzero_voxels(mask)
    thin = nonzero_voxels(skeleton(mask))
    inner = slice(width, -width)  # a skeleton ends before the ribbon does
    diameter = calibre_mm(voxels, thin, shape, spacing_mm=(1.0, 1.0, 1.0))[inner]
    np.testing.assert_allclose(diameter, width, atol=1e-9)
    group = 0 if width <= 2 else 1 if width <= 4 else 2
    assert np.argmax(radius_recall(mask, mask).centreline_voxels) == group


@each_way
def test_small_recall_tells_thin_lines_from_wide_ones(way):
    thin, wide = np.zeros((2, 30, 40), bool)
    thin[3, 2:38] = True
    wide[10:15, 2:38] = True
    assert metrics.small_recall(laid(thin | wide, way), laid(wide, way)) == 0
    assert metrics.small_recall(laid(thin | wide, way), laid(thin, way)) == 1


@each_way
def test_morphometry_of_a_ribbon(way):
    ribbon = np.zeros((12, 60), bool)
    ribbon[2:7, 2:58] = True
    step = spacing(way)
    found = morphometry.morphometrics(laid(ribbon, way), spacing_mm=step)
    assert (found.components, found.junctions, len(found.branches)) == (1, 0, 1)
    assert found.radius_mm.median == pytest.approx(5 * SPACING_MM[0] / 2)
    assert found.length_mm == pytest.approx(56 * SPACING_MM[1], abs=5 * SPACING_MM[1])
    length = centreline_length_mm(laid(ribbon, way), spacing_mm=step)
    assert length == pytest.approx(found.length_mm)
    thickness = 1.0 if way == "2D" else THICK_MM
    assert found.volume_mm3 == pytest.approx(5 * 56 * math.prod(SPACING_MM) * thickness)


@each_way
def test_a_full_plane_has_the_dimension_2(way):
    plane = laid(np.ones((64, 64), bool), way)
    step = (1.0, 1.0) if way == "2D" else tuple(np.insert([1.0, 1.0], "xyz".index(way), 9.0))
    assert morphometry.fractal_dimension(plane, spacing_mm=step) == pytest.approx(2)


# ---- raters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["x", "y", "z"])
def test_a_disc_drawn_larger_lies_that_much_outside(way):
    x, y = np.ogrid[-30:31, -30:31]
    large, small = (x * x + y * y <= r * r for r in (22.0, 18.0))
    step = tuple(np.insert([0.5, 0.5], "xyz".index(way), THICK_MM).tolist())

    def boundary(mask):
        plane = laid(mask, way)
        return Boundary.of(nonzero_voxels(plane), Grid(plane.shape, step))

    assert boundary_mm(boundary(large), boundary(small)) == pytest.approx(2.0, abs=0.05)


# ---- contact ----------------------------------------------------------------------------------


def disc_and_half_ring():
    """A vessel cut across, and lesions that touch its whole edge, and half of it."""
    x, y = np.ogrid[-8:9, -8:9]
    vessel = x * x + y * y <= 9
    ring = (x * x + y * y <= 30) & ~vessel
    return vessel, ring, ring & (x > 0)


@each_way
def test_invasion_is_seen_in_the_plane_alone(way):
    vessel, ring, half = disc_and_half_ring()
    edge = vessel & ~ndimage.binary_erosion(vessel)
    touched = edge & ndimage.binary_dilation(half)
    share = touched.sum() / edge.sum()
    found = metrics.vi(laid(vessel, way), [laid(ring, way)] * 2, laid(half, way).astype(np.float32))
    assert found == pytest.approx(360 * (1 - share))


@each_way
def test_a_plane_has_no_anatomical_contact_angle(way):
    vessel, ring, _ = disc_and_half_ring()
    assert math.isnan(metrics.contact_angle(laid(vessel, way), laid(ring, way)))
    assert math.isnan(metrics.contact_angle(laid(vessel, way), laid(0 * ring, way)))


# ---- lines and single voxels ------------------------------------------------------------------


@pytest.mark.parametrize("axis", range(3))
def test_the_surface_of_a_line_are_the_ends_of_its_parts(axis):
    def row(*voxels):
        mask = np.zeros(30, bool)
        mask[list(voxels)] = True
        return np.moveaxis(mask[:, None, None], 0, axis)

    first, second = row(*range(2, 10)), row(*range(2, 10), 20)
    # ends at 2 and 10, and at 2, 10, 20 and 21: these two are 10 and 11 away
    assert metrics.assd(first, second) == pytest.approx(21 / 6)
    assert metrics.hd(first, second) == 11
    assert metrics.nsd(first, second, tolerance_mm=10) == pytest.approx(5 / 6)
    assert metrics.assd(first, second, definition="edge-voxels") == pytest.approx(11 / 5)
    assert betti_numbers(second) == BettiNumbers(2, 0, 0)
    assert metrics.cldice(first, second) == pytest.approx(2 * (8 / 9) / (1 + 8 / 9))
    assert math.isnan(metrics.vi(first, [first], first.astype(float)))


def test_one_voxel_alone():
    one, none = np.ones((1, 1, 1), bool), np.zeros((1, 1, 1), bool)
    assert metrics.hd(one, one) == 0
    assert metrics.nsd(one, one) == 1
    assert metrics.nsd(one, none) == 0
    assert metrics.cldice(one, one, thinning="topology-preserving") == 1
    assert metrics.small_recall(one, one) == 1
    assert metrics.betti(one, none) == 1


def test_real_axes_are_stood_up_without_moving_a_voxel():
    mask = blob(1)
    for way in ("x", "y", "z"):
        plane = laid(mask, way)
        shape, step = stood_up(plane.shape, spacing(way))
        assert shape == (23, 1, 31)
        assert step == (0.7, 1.0, 1.3)
        voxels = nonzero_voxels(plane)
        np.testing.assert_array_equal(voxels, nonzero_voxels(mask[:, None, :]))
    assert stood_up((4, 3, 2), (1.0, 2.0, 3.0)) == ((4, 3, 2), (1.0, 2.0, 3.0))
    assert stood_up((1, 7, 1), (1.0, 2.0, 3.0)) == ((1, 1, 7), (1.0, 1.0, 2.0))


# ---- what is given ----------------------------------------------------------------------------


def test_an_image_in_2d_brings_its_spacing():
    def image(mask):
        given = sitk.GetImageFromArray(np.ascontiguousarray(mask.astype(np.uint8).T))
        given.SetSpacing(SPACING_MM)
        return given

    pair = blob(1), blob(2)
    expected = metrics.assd(*pair, spacing_mm=SPACING_MM)
    assert metrics.assd(*map(image, pair)) == pytest.approx(expected, rel=1e-12)
    assert expected != metrics.assd(*pair)


@pytest.mark.parametrize("given", [(1.0,), (1.0, 0.0), (1.0, 2.0, 3.0, 4.0), (1.0, math.inf), 1.0])
def test_a_spacing_must_fit_the_axes(given):
    with pytest.raises(ValueError, match="spacing is"):
        three_spacings(given, (4, 5, 1))
    with pytest.raises(ValueError, match="spacing is"):
        metrics.hd(np.ones((4, 5, 6)), np.ones((4, 5, 6)), spacing_mm=(1.0, 2.0))


def test_more_axes_than_three_are_refused():
    with pytest.raises(ValueError, match="reference has 4 axes, expected 3"):
        metrics.hd(np.ones((2, 2, 2, 2)), np.ones((2, 2, 2, 2)))
