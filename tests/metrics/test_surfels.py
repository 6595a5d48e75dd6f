"""Surface elements, edges and nearest points, against other programs, formulas and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from segjury.arrays import nonzero_voxels
from segjury.metrics.geometry import nearest, outline
from segjury.metrics.geometry.nearest import Points, nearest_distances
from segjury.metrics.geometry.outline import corner_patterns, edge_voxels
from segjury.metrics.geometry.surfels import CORNERS, surfel_areas_mm2
from segjury.metrics.surface import mask_surface

# ---- surface elements -------------------------------------------------------------------------

# One pattern of each kind, printed by surface-distance for voxels of 0.7 x 1.1 x 2.5 mm.
AREAS_MM2 = {
    0b00000000: 0.0,
    0b00000001: 0.418664170308375,
    0b00000011: 0.9559550198623364,
    0b00000110: 0.83732834061675,
    0b00000111: 1.6409925109251249,
    0b00001111: 0.77,
    0b00010110: 1.2559925109251249,
    0b00010111: 2.5119850218502497,
    0b00011000: 0.83732834061675,
    0b00011001: 2.048464771609037,
    0b00011011: 3.2034985060999253,
    0b00011110: 2.0596566812335,
    0b00011111: 1.640992510925125,
    0b00111100: 1.9119100397246729,
    0b00111101: 1.3746191901707114,
    0b00111111: 0.9559550198623364,
    0b01101001: 1.6746566812335,
    0b01101011: 1.2559925109251249,
    0b01101111: 0.83732834061675,
    0b01111110: 0.83732834061675,
    0b01111111: 0.418664170308375,
    0b11111111: 0.0,
}


def test_areas_are_those_of_the_reference_implementation():
    areas = surfel_areas_mm2((0.7, 1.1, 2.5))
    for pattern, expected in AREAS_MM2.items():
        assert areas[pattern] == pytest.approx(expected, abs=1e-12), f"{pattern:08b}"


def test_areas_do_not_depend_on_flips_and_axis_order():
    spacing_mm = (0.7, 1.1, 2.5)
    areas, kinds = surfel_areas_mm2(spacing_mm), set()
    for axes in itertools.permutations(range(3)):
        turned = surfel_areas_mm2(tuple(spacing_mm[axis] for axis in axes))
        for flips in itertools.product((0, 1), repeat=3):
            bits = [
                CORNERS.index(
                    tuple(corner[axis] ^ flip for axis, flip in zip(axes, flips, strict=True))
                )
                for corner in CORNERS
            ]
            moved = [
                sum(1 << bits[bit] for bit in range(8) if pattern >> bit & 1)
                for pattern in range(256)
            ]
            np.testing.assert_allclose(turned[moved], areas, rtol=1e-12)
            kinds.update(moved[pattern] for pattern in AREAS_MM2)
    assert len(kinds) == 256  # so that the table above speaks for every pattern


def test_the_surface_of_a_box_is_its_faces_with_bevelled_edges():
    n, spacing_mm = np.array([4, 3, 5]), (0.8, 1.1, 2.5)
    box = np.ones(n, bool)  # fills the image: its outside is background
    sx, sy, sz = spacing_mm
    mx, my, mz = (n - 1) * spacing_mm
    faces = 2 * (mx * my + my * mz + mz * mx)
    edges = 2 * (mx * math.hypot(sy, sz) + my * math.hypot(sx, sz) + mz * math.hypot(sx, sy))
    corners = math.sqrt((sx * sy) ** 2 + (sy * sz) ** 2 + (sz * sx) ** 2)
    surface = mask_surface(nonzero_voxels(box), box.shape, spacing_mm)
    assert surface.weights.sum() == pytest.approx(faces + edges + corners, rel=1e-12)


# ---- edges, corners and nearest points from flat indices --------------------------------------


@pytest.fixture(params=[1, 60, 1 << 20], ids=lambda n: f"slabs of {n}")
def _slab_size(request, monkeypatch):
    monkeypatch.setattr(outline, "SLAB_VOXELS", request.param)


@pytest.mark.usefixtures("_slab_size")
@pytest.mark.parametrize("seed", range(6))
def test_edges_and_corners_are_those_of_the_dense_image(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(2, 9, 3)) < rng.uniform(0.05, 0.95)
    voxels = nonzero_voxels(mask)
    edge = mask & ~ndimage.binary_erosion(mask)
    np.testing.assert_array_equal(edge_voxels(voxels, mask.shape), nonzero_voxels(edge))

    bits = (1 << np.arange(8)).reshape(2, 2, 2, order="F")
    padded = np.pad(mask, ((0, 1),) * 3).astype(int)
    dense = ndimage.correlate(padded, bits, mode="constant")
    corners, patterns = corner_patterns(voxels, mask.shape)
    meeting = nonzero_voxels((dense > 0) & (dense < 255))
    np.testing.assert_array_equal(corners, meeting)
    np.testing.assert_array_equal(patterns, dense.reshape(-1, order="F")[meeting])


@pytest.mark.usefixtures("_slab_size")
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("seed", range(3))
def test_edges_and_corners_of_a_plane_are_those_of_the_dense_image(seed, axis):
    rng = np.random.default_rng(seed)
    plane = rng.random(rng.integers(2, 20, 2)) < rng.uniform(0.05, 0.95)
    mask = np.expand_dims(plane, axis)
    edge = plane & ~ndimage.binary_erosion(plane)
    np.testing.assert_array_equal(
        edge_voxels(nonzero_voxels(mask), mask.shape), nonzero_voxels(edge)
    )
    # a voxel stands for itself and for the one beside it across the plane: bits x, y alike, z
    bits = np.array([[1 + 4, 16 + 64], [2 + 8, 32 + 128]])
    dense = ndimage.correlate(np.pad(plane, (0, 1)).astype(int), bits, mode="constant")
    corners, patterns = corner_patterns(nonzero_voxels(mask), mask.shape)
    meeting = nonzero_voxels((dense > 0) & (dense < 255))
    np.testing.assert_array_equal(corners, meeting)
    np.testing.assert_array_equal(patterns, dense.reshape(-1, order="F")[meeting])


def test_a_mask_of_nothing_has_no_outline():
    nothing = np.zeros(0, np.int64)
    assert edge_voxels(nothing, (3, 4, 5)).size == 0
    assert corner_patterns(nothing, (3, 4, 5))[0].size == 0


@pytest.mark.parametrize("box_voxels", [0, 10**9], ids=["tree", "distance transform"])
@pytest.mark.parametrize("near_voxels", [0.1, 3.0, 8.0])
def test_nearest_points_by_whatever_means(box_voxels, near_voxels, monkeypatch):
    monkeypatch.setattr(nearest, "NEAR_VOXELS", near_voxels)
    monkeypatch.setattr(nearest, "BOX_VOXELS_PER_FAR_POINT", box_voxels)
    rng = np.random.default_rng(0)
    shape, spacing = (30, 20, 10), (0.7, 1.1, 2.5)
    a, b = (Points(np.sort(rng.choice(6000, n, replace=False)), shape, spacing) for n in (150, 40))
    here, there = (points.indices(np.arange(points.flat.size)) for points in (a, b))
    offsets = (here[:, None] - there[None]) * spacing
    expected = np.sqrt((offsets**2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose(nearest_distances(a, b), expected, atol=1e-12)


def test_points_of_different_grids_are_refused():
    point = np.array([0])
    with pytest.raises(ValueError, match="cannot be compared"):
        nearest_distances(
            Points(point, (2, 2, 2), (1.0, 1.0, 1.0)), Points(point, (2, 2, 2), (1.0, 1.0, 2.0))
        )
