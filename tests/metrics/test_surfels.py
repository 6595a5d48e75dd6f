"""Surface elements, edges and nearest points, against other programs, formulas and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from segjury.arrays import nonzero_voxels
from segjury.metrics.geometry.surfaces import nearest, outline, points
from segjury.metrics.geometry.surfaces.nearest import nearest_distances
from segjury.metrics.geometry.surfaces.outline import corner_patterns, edge_voxels
from segjury.metrics.geometry.surfaces.points import Points
from segjury.metrics.geometry.surfaces.surfels import CORNERS, surfel_areas_mm2
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


@pytest.fixture(params=itertools.product([1, 60, 1 << 20], ["as wide", "cut", "scattered"]))
def _slab_size(request, monkeypatch):
    """Slabs of all sizes: as wide as the image, cut to their voxels, and of single voxels."""
    size, way = request.param
    monkeypatch.setattr(outline, "SLAB_VOXELS", size)
    monkeypatch.setattr(outline, "DENSE", 1 << 30 if way == "as wide" else 1)
    monkeypatch.setattr(outline, "SPARSE", 0 if way == "scattered" else 1 << 30)


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


def brute_force(points, others):
    here, there = (some.indices(np.arange(some.flat.size)) for some in (points, others))
    offsets = (here[:, None] - there[None]) * points.spacing
    return np.sqrt((offsets**2).sum(axis=2)).min(axis=1)


def random_points(counts, shape=(30, 20, 10), spacing=(0.7, 1.1, 2.5)):
    rng, size = np.random.default_rng(0), math.prod(shape)
    return [Points(np.sort(rng.choice(size, n, replace=False)), shape, spacing) for n in counts]


@pytest.mark.parametrize("box_voxels", [0, 10**9], ids=["tree", "distance transform"])
@pytest.mark.parametrize("near_voxels", [0.1, 3.0, 8.0])
def test_nearest_points_by_whatever_means(box_voxels, near_voxels, monkeypatch):
    monkeypatch.setattr(nearest, "NEAR_VOXELS", near_voxels)
    monkeypatch.setattr(nearest, "FAR_VOXELS", 2 * near_voxels)
    monkeypatch.setattr(nearest, "BOX_VOXELS_PER_FAR_POINT", box_voxels)
    a, b = random_points((150, 40))
    np.testing.assert_allclose(nearest_distances(a, b), brute_force(a, b), atol=1e-12)


@pytest.mark.parametrize("counts", [(150, 40), (40, 150), (5, 3000), (3000, 5), (900, 900)])
@pytest.mark.parametrize("step_voxels", [1, 4])
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_nearest_points_among_many(counts, step_voxels, piece, monkeypatch):
    monkeypatch.setattr(nearest, "MANY_POINTS", 0)
    monkeypatch.setattr(nearest, "BOX_VOXELS_PER_POINT", 1 << 30)
    monkeypatch.setattr(nearest, "STEP_VOXELS", step_voxels)
    monkeypatch.setattr(points, "PIECE", piece)
    a, b = random_points(counts)
    low = Points(b.flat[b.flat < 4000], b.shape, b.spacing)  # nothing near the upper points
    np.testing.assert_allclose(nearest_distances(a, low), brute_force(a, low), atol=1e-12)


@pytest.mark.parametrize("limit", [0.5, 3.0])
def test_distances_up_to_a_limit(limit):
    a, b = random_points((150, 40))
    found, expected = nearest_distances(a, b, limit=limit), brute_force(a, b)
    near = expected <= limit
    assert 0 < near.sum() < near.size
    np.testing.assert_allclose(found[near], expected[near], atol=1e-12)
    assert (found[~near] > limit).all()


def test_a_mask_that_is_all_surface_is_put_into_no_search_tree(monkeypatch):
    def refuse(points):
        raise AssertionError(f"a tree of {points.flat.size} points")

    shape = (48, 48, 48)
    sheets, reference = np.zeros((2, *shape), bool)
    sheets[::2] = True
    reference[20:28, 20:28, 20:28] = True
    monkeypatch.setattr(Points, "tree", property(refuse))
    cube, sheet = (
        mask_surface(nonzero_voxels(mask), shape, (1.0, 1.0, 1.0)).points
        for mask in (reference, sheets)
    )
    there, back = nearest_distances(cube, sheet), nearest_distances(sheet, cube)
    # every corner of a voxel lies at a sheet, but for those of the last plane
    assert there.max() == 0
    # the farthest corner of the image, 20 from the cube on each axis
    assert back.max() == pytest.approx(math.hypot(20, 20, 20))


def test_points_of_different_grids_are_refused():
    point = np.array([0])
    with pytest.raises(ValueError, match="cannot be compared"):
        nearest_distances(
            Points(point, (2, 2, 2), (1.0, 1.0, 1.0)), Points(point, (2, 2, 2), (1.0, 1.0, 2.0))
        )
