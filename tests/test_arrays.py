"""Boxes of voxels, and the places of voxels in them."""

from __future__ import annotations

import numpy as np

from segjury.arrays import Box, bounding_box, nonzero_voxels

SHAPE = (9, 8, 7)
BOX = Box(slice(2, 5), slice(3, 4), slice(4, 6))


def test_the_box_around_voxels():
    mask = np.zeros(SHAPE, bool)
    mask[2:5, 3, 4:6] = True
    assert bounding_box(nonzero_voxels(mask), SHAPE) == BOX
    assert bounding_box(np.zeros(0, np.int64), SHAPE) is None
    assert mask[BOX].all()
    assert mask[BOX].shape == BOX.shape == (3, 1, 2)


def test_a_box_grows_up_to_the_border_of_the_image():
    assert BOX.grow(3, SHAPE) == (slice(0, 8), slice(0, 7), slice(1, 7))
    assert BOX.grow((1, 0, 9), SHAPE) == (slice(1, 6), slice(3, 4), slice(0, 7))


def test_what_two_boxes_have_in_common():
    assert BOX & Box(slice(4, 9), slice(0, 8), slice(0, 7)) == (
        slice(4, 5),
        slice(3, 4),
        slice(4, 6),
    )
    assert BOX & Box(slice(5, 9), slice(0, 8), slice(0, 7)) is None


def test_a_box_around_boxes():
    second = Box(slice(0, 3), slice(3, 4), slice(5, 9))
    assert Box.around([BOX, second]) == (slice(0, 5), slice(3, 4), slice(4, 9))
    assert Box.whole(SHAPE).shape == SHAPE


def test_a_box_inside_another_holds_the_same_voxels():
    array = np.random.default_rng(0).random(SHAPE)
    outer = BOX.grow(1, SHAPE)
    np.testing.assert_array_equal(array[outer][BOX.inside(outer)], array[BOX])


def test_places_of_voxels_in_a_box():
    array = np.asfortranarray(np.random.default_rng(0).random(SHAPE))
    voxels = np.array([2 + 9 * (3 + 8 * 4), 4 + 9 * (3 + 8 * 5)])
    found = array[BOX][BOX.places(voxels, SHAPE)]
    np.testing.assert_array_equal(found, array.ravel(order="F")[voxels])


def test_a_box_without_voxels():
    assert Box(slice(2, 5), slice(3, 3), slice(4, 6)).is_empty
    assert not BOX.is_empty
