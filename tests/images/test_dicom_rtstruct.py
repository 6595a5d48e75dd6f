"""DICOM structure sets: contours filled as matplotlib fills them, and by hand."""

from __future__ import annotations

import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path as Outline

from segjury import images
from segjury.errors import InputError
from segjury.images.formats.dicom import rtstruct
from segjury.images.formats.dicom.rtstruct import fill
from segjury.images.grid import Grid
from tests.dicom_files import place_mm, write_rtstruct

TURN = ((0.8, -0.6, 0.0), (0.6, 0.8, 0.0), (0.0, 0.0, 1.0))
GRID = Grid((12, 10, 5), (0.5, 0.75, 2.0), (10.0, -20.0, 30.0), TURN)
MANY = 10**6


def box(low, high, level):
    """The corners of a rectangle in a slice, in voxels."""
    (x0, y0), (x1, y1) = low, high
    return np.array([(x0, y0, level), (x1, y0, level), (x1, y1, level), (x0, y1, level)], float)


def in_mm(grid, contours):
    return [np.array([place_mm(grid, point) for point in contour]) for contour in contours]


def drawn(path, grid, structures, **options):
    """Structures with contours in voxels of a grid."""
    write_rtstruct(path, {n: in_mm(grid, each) for n, each in structures.items()}, **options)


def read(path, grid=GRID, labels=(1, 2, 3), **options):
    return images.read_mask(path, labels=labels, grid=grid, **options)


def masked(*boxes):
    mask = np.zeros(GRID.shape, bool)
    for x, y, z in boxes:
        mask[slice(*x), slice(*y), slice(*z)] = True
    return mask


# ---- filling -------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10_000), corners=st.integers(3, 12), polygons=st.integers(1, 3))
def test_polygons_are_filled_as_matplotlib_fills_them(seed, corners, polygons):
    rng = np.random.default_rng(seed)
    # star-shaped, so that inside has one meaning; no corner is near a whole number
    outlines = []
    for _ in range(polygons):
        turns = np.sort(rng.random(corners)) * 2 * np.pi
        radii = rng.uniform(1, 9, corners)
        centre = rng.uniform(3, 12, 2)
        outlines.append(centre + np.stack([radii * np.cos(turns), radii * np.sin(turns)], axis=1))
    points = np.stack(np.meshgrid(np.arange(17), np.arange(13), indexing="ij"), axis=-1)
    expected = np.zeros((17, 13), bool)
    for outline in outlines:
        closed = np.concatenate([outline, outline[:1]])
        expected ^= Outline(closed).contains_points(points.reshape(-1, 2)).reshape(17, 13)
    found, _ = fill(outlines, (17, 13), MANY)
    np.testing.assert_array_equal(found, expected)


def test_a_centre_on_a_border_belongs_to_one_of_two_neighbours():
    left = np.array([(1, 1), (4, 1), (4, 5), (1, 5)], float)
    right, below = np.add(left, (3, 0)), np.add(left, (0, 4))
    masks = [fill([each], (12, 12), MANY)[0] for each in (left, right, below)]
    expected = np.zeros((12, 12), bool)
    expected[1:4, 1:5] = True
    np.testing.assert_array_equal(masks[0], expected)
    assert np.stack(masks).sum(axis=0).max() == 1
    assert np.stack(masks).sum() == 3 * 12


@pytest.mark.parametrize("outline", [
    [(1, 1), (9, 1), (5, 9)], [(5, 9), (9, 1), (1, 1)], [(9, 1), (5, 9), (1, 1), (1, 1)],
])  # fmt: skip
def test_neither_the_sense_nor_the_start_of_a_contour_matters(outline):
    found, _ = fill([np.array(outline, float)], (11, 11), MANY)
    expected, _ = fill([np.array([(1, 1), (5, 9), (9, 1)], float)], (11, 11), MANY)
    np.testing.assert_array_equal(found, expected)


def test_two_triangles_share_a_diagonal_and_no_voxel():
    square = np.array([(0, 0), (7, 0), (7, 7), (0, 7)], float)
    halves = [fill([square[list(k)]], (8, 8), MANY)[0] for k in ((0, 1, 2), (0, 2, 3))]
    whole, _ = fill([square], (8, 8), MANY)
    np.testing.assert_array_equal(halves[0] ^ halves[1], whole)
    assert not (halves[0] & halves[1]).any()
    assert whole.sum() == 49


# ---- files ---------------------------------------------------------------------------------


def test_structures_are_what_was_drawn_and_may_overlap(tmp_path):
    structures = {
        "lumen": [box((0.5, 1.5), (5.5, 6.5), level) for level in (1, 2)],
        "wall": [box((3.5, 3.5), (8.5, 8.5), 2)],
    }
    drawn(tmp_path / "m.dcm", GRID, structures)
    found = read(tmp_path / "m.dcm")
    np.testing.assert_array_equal(found.dense(1), masked(((1, 6), (2, 7), (1, 3))))
    np.testing.assert_array_equal(found.dense(2), masked(((4, 9), (4, 9), (2, 3))))
    assert found.grid == GRID
    assert frozenset({1, 2}) in found.members


def test_a_contour_in_another_is_a_hole_and_one_beside_it_is_not(tmp_path):
    contours = [box((0.5, 0.5), (8.5, 8.5), 1), box((2.5, 2.5), (5.5, 5.5), 1)]
    contours += [box((9.5, 0.5), (10.5, 3.5), 1), box((3.5, 3.5), (4.5, 4.5), 1)]
    drawn(tmp_path / "m.dcm", GRID, {"lumen": contours})
    expected = masked(((1, 9), (1, 9), (1, 2)), ((10, 11), (1, 4), (1, 2)))
    expected[3:6, 3:6, 1] = False
    expected[4, 4, 1] = True
    np.testing.assert_array_equal(read(tmp_path / "m.dcm").dense(1), expected)


def test_a_hole_by_a_narrow_channel(tmp_path):
    outer, inner = box((0.5, 0.5), (8.5, 8.5), 1), box((2.5, 2.5), (5.5, 5.5), 1)[::-1]
    keyhole = np.concatenate([outer, outer[:1], inner, inner[:1]])
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [keyhole]})
    expected = masked(((1, 9), (1, 9), (1, 2)))
    expected[3:6, 3:6, 1] = False
    np.testing.assert_array_equal(read(tmp_path / "m.dcm").dense(1), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_may_be_across_any_axis_of_the_reference(tmp_path, axis):
    contour = np.insert(box((0.5, 0.5), (3.5, 2.5), 9)[:, :2], axis, 2, axis=1)
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [contour]})
    expected = np.zeros(GRID.shape, bool)
    np.moveaxis(expected, axis, 0)[2, 1:4, 1:3] = True
    np.testing.assert_array_equal(read(tmp_path / "m.dcm").dense(1), expected)


def test_numbers_or_names_are_labels(tmp_path):
    square = [box((0.5, 0.5), (2.5, 2.5), 0)]
    drawn(tmp_path / "m.dcm", GRID, {"lumen": square, "table": []}, numbers=[3, 7])
    assert read(tmp_path / "m.dcm").present == {3}  # what is not drawn needs no label
    assert read(tmp_path / "m.dcm", names={"lumen": 2}).present == {2}
    with pytest.raises(
        InputError, match=r"m\.dcm has marks in structure 3 \('lumen'\), expected 1"
    ):
        read(tmp_path / "m.dcm", labels=[1])
    drawn(tmp_path / "two.dcm", GRID, {"lumen": square, "wall": square})
    with pytest.raises(InputError, match="two segments for label 1"):
        read(tmp_path / "two.dcm", names={"lumen": 1, "wall": 1})
    with pytest.raises(InputError, match="marks in structure 3"):
        read(tmp_path / "m.dcm", names={"aorta": 2})


def test_without_contours_nothing_is_marked(tmp_path):
    drawn(tmp_path / "m.dcm", GRID, {"lumen": []})
    assert read(tmp_path / "m.dcm").voxels.size == 0
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [box((1, 1), (2, 2), 1)[:2]]})
    assert read(tmp_path / "m.dcm").voxels.size == 0


# ---- what is refused -----------------------------------------------------------------------

SQUARE = box((0.5, 0.5), (3.5, 3.5), 1)
TILTED = SQUARE + np.array([(0, 0, 0), (0, 0, 0), (0, 0, 0.4), (0, 0, 0.4)])
BAD = {
    "between slices": ([np.add(SQUARE, (0, 0, 0.3))], "not on slices of the reference"),
    "tilted": ([TILTED, SQUARE[:, [0, 2, 1]], SQUARE[:, [2, 0, 1]]], "not on slices"),
    "below the first slice": ([np.subtract(SQUARE, (0, 0, 2))], "contours outside the reference"),
    "beside the image": ([np.add(SQUARE, (11, 0, 0))], "contours outside the reference"),
}


@pytest.mark.parametrize(("contours", "message"), BAD.values(), ids=BAD)
def test_contours_that_are_not_in_the_image_are_refused(tmp_path, contours, message):
    drawn(tmp_path / "m.dcm", GRID, {"lumen": contours})
    with pytest.raises(InputError, match=rf"^m\.dcm has .*{message}"):
        read(tmp_path / "m.dcm")


def test_open_contours_and_points_are_refused(tmp_path):
    for kind in ("POINT", "OPEN_PLANAR"):
        drawn(tmp_path / "m.dcm", GRID, {"lumen": [SQUARE]}, kind=kind)
        with pytest.raises(InputError, match=f"a contour of type '{kind}'"):
            read(tmp_path / "m.dcm")


def test_a_structure_set_needs_the_grid_of_a_reference(tmp_path):
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [SQUARE]})
    for act in (images.read_grid, lambda path: read(path, None)):
        with pytest.raises(InputError, match="structure set, which has no grid of its own"):
            act(tmp_path / "m.dcm")
    images.check_header(tmp_path / "m.dcm", expected_shape=GRID.shape)


def test_endless_contours_are_not_filled(tmp_path, monkeypatch):
    monkeypatch.setattr(rtstruct, "MOST_CONTOURS", 1)
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [SQUARE], "wall": [SQUARE]})
    with pytest.raises(InputError, match="more than 1 contours"):
        read(tmp_path / "m.dcm")
    monkeypatch.undo()
    monkeypatch.setattr(rtstruct, "MOST_STEPS", 40)
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [SQUARE], "wall": [SQUARE]})
    with pytest.raises(InputError, match="more contours than can be filled"):
        read(tmp_path / "m.dcm")


def test_broken_points_are_refused(tmp_path):
    drawn(tmp_path / "m.dcm", GRID, {"lumen": [SQUARE]})
    dataset = pydicom.dcmread(tmp_path / "m.dcm")
    contour = dataset.ROIContourSequence[0].ContourSequence[0]
    contour.ContourData = [*map(float, np.ravel(SQUARE)), 1.0]
    dataset.save_as(tmp_path / "m.dcm")
    with pytest.raises(InputError, match="broken points"):
        read(tmp_path / "m.dcm")
    contour.ContourData = None
    dataset.save_as(tmp_path / "m.dcm")
    assert read(tmp_path / "m.dcm").voxels.size == 0
    del contour.ContourData
    dataset.save_as(tmp_path / "m.dcm")
    with pytest.raises(InputError, match="without points"):
        read(tmp_path / "m.dcm")
