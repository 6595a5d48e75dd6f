from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury.arrays import Box, nonzero_spans, nonzero_voxels
from segjury.errors import InputError
from segjury.images.grid import Grid, grid_differences
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.volume import Volume

GRID = Grid((4, 4, 4), (1.0, 1.0, 2.0))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    dtype=st.sampled_from([bool, np.uint8, np.int16, np.float32, np.float64]),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 20)),
    order=st.sampled_from("CF"),
)
def test_nonzero_voxels_are_numpys(seed, dtype, shape, order):
    rng = np.random.default_rng(seed)
    array = np.asarray(rng.random(shape) < rng.choice([0, 1e-3, 0.3, 1]), dtype, order=order)
    expected = np.flatnonzero(array.ravel(order="F"))
    np.testing.assert_array_equal(nonzero_voxels(array), expected)
    covered = np.zeros(array.size, bool)
    for start, stop in nonzero_spans(array):
        covered[start:stop] = True
    assert covered[expected].all()


def test_known_spans_are_taken_at_their_word():
    array = np.ones((4, 1, 1))
    assert Volume(array, Grid((4, 1, 1)), ((1, 3),)).spans == ((1, 3),)
    assert nonzero_voxels(array, [(1, 3)]).tolist() == [1, 2]
    assert Volume(array, Grid((4, 1, 1))).spans == ((0, 4),)


def test_a_negative_zero_and_a_nan():
    array = np.array([[[-0.0, 0.0, np.nan, 2.0]]]).T
    assert nonzero_voxels(array).tolist() == [2, 3]


def test_a_label_map_gives_back_its_mask():
    array = np.random.default_rng(0).integers(0, 3, (6, 5, 4)).astype(np.uint8)
    labels = LabelMap(SparseLabels.of(array), Grid((6, 5, 4)))
    np.testing.assert_array_equal(labels.crop(2, Box.whole(array.shape)), array == 2)


@pytest.mark.parametrize("share", [0, 0.02, 0.5, 1], ids=["none", "few", "many", "all"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_marks_are_the_labelled_voxels_however_many(share, dtype):
    rng = np.random.default_rng(0)
    array = np.where(rng.random((70, 80, 90)) < share, rng.integers(1, 4, (70, 80, 90)), 0)
    marks, flat = SparseLabels.of(np.asfortranarray(array, dtype)), array.ravel(order="F")
    assert (marks.listed is None) == (share > 0.1)
    pieces = [np.zeros((2, 0)), *(np.stack(piece) for piece in marks.pieces())]
    np.testing.assert_array_equal(
        np.concatenate(pieces, axis=1), [np.flatnonzero(flat), flat[flat > 0]]
    )
    np.testing.assert_array_equal(marks.voxels, np.flatnonzero(flat))
    np.testing.assert_array_equal(marks.labels, flat[flat > 0])
    np.testing.assert_array_equal(marks.where(2), np.flatnonzero(flat == 2))
    np.testing.assert_array_equal(marks.select(lambda v: v > 1), np.flatnonzero(flat > 1))
    swapped = marks.relabelled(lambda labels: np.array([0, 0, 9, 1])[labels.astype(int)])
    np.testing.assert_array_equal(swapped.voxels, np.flatnonzero(flat > 1))
    np.testing.assert_array_equal(swapped.labels, np.where(flat == 2, 9, 1)[flat > 1])


def test_equal_grids_have_no_differences():
    assert grid_differences(GRID, Grid((4, 4, 4), (1.0, 1.0005, 2.0))) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Grid((4, 4, 4), (1.0, 1.1, 2.0)), ["spacing"]),
        (Grid((4, 4, 4), (1.0, 1.0, 2.0), (0.0, 5.0, 0.0)), ["origin"]),
        (
            Grid((4, 4, 4), (1.0, 1.0, 2.0), direction=((-1, 0, 0), (0, 1, 0), (0, 0, 1))),
            ["direction"],
        ),
    ],
)
def test_differences_are_named(other, expected):
    assert [difference.property for difference in grid_differences(GRID, other)] == expected


def test_small_voxels_differ_by_less_than_the_tolerance_of_large_ones():
    microscope = Grid((4, 4, 4), (0.003, 0.003, 0.005))
    (found,) = grid_differences(microscope, Grid((4, 4, 4), (0.003, 0.003, 0.006)), tolerance_mm=1)
    assert found.message == (
        "has spacing [0.003, 0.003, 0.006], the reference has [0.003, 0.003, 0.005]"
    )
    moved = Grid((4, 4, 4), microscope.spacing_mm, (0.0, 0.0, 0.0009))
    (found,) = grid_differences(microscope, moved, tolerance_mm=1)
    assert found.property == "origin"


def test_another_shape_is_an_error():
    with pytest.raises(InputError, match=r"has shape \(4, 4, 3\), the reference has \(4, 4, 4\)"):
        grid_differences(GRID, Grid((4, 4, 3)))


def test_an_array_must_fit_its_grid():
    with pytest.raises(ValueError, match="its grid"):
        Volume(np.zeros((2, 2, 2)), GRID)
