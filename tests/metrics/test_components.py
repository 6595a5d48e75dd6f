"""Connected components, against scipy's labels of the whole image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segjury.arrays import flat, nonzero_voxels
from segjury.metrics.geometry import components as module
from segjury.metrics.geometry.components import REACH, common_voxels, components

some = settings(max_examples=60, deadline=None)
shapes = st.tuples(*[st.integers(1, 8)] * 3)


def mask_of(shape, share, seed):
    return np.asfortranarray(np.random.default_rng(seed).random(shape) < share)


def found(mask, connectivity="corners"):
    return components(nonzero_voxels(mask), mask.shape, connectivity)


@pytest.mark.parametrize("dense", [0, 10**9], ids=["joined", "labelled"])
@pytest.mark.parametrize("connectivity", REACH)
@some
@given(shape=shapes, share=st.sampled_from([0.05, 0.2, 0.4, 0.7, 1.0]), seed=st.integers(0, 999))
def test_components_are_those_of_scipy(dense, connectivity, shape, share, seed):
    mask = mask_of(shape, share, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DENSE", dense)
        parts = found(mask, connectivity)
    labels, count = ndimage.label(mask, ndimage.generate_binary_structure(3, REACH[connectivity]))
    here = parts.at(np.arange(mask.size))
    assert parts.count == count
    assert len(set(zip(here.tolist(), flat(labels).tolist(), strict=True))) == len({*here.tolist()})
    assert np.array_equal(here >= 0, flat(mask))
    assert np.array_equal(parts.sizes, np.bincount(here[here >= 0], minlength=count))


def test_the_largest_comes_first_and_then_the_one_with_the_first_voxel():
    mask = np.zeros((12, 3, 1), bool)
    mask[0, 0] = mask[3:5, 0] = mask[7:9, 0] = True
    mask[2:5, 2] = True
    parts = found(mask)
    assert parts.sizes.tolist() == [3, 2, 2, 1]
    firsts = [2 + 2 * 12, 3, 7, 0]
    assert parts.at(np.array(firsts)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("axis", range(3))
def test_in_a_plane_corners_of_pixels_are_edges_of_voxels(axis):
    diagonal = np.expand_dims(np.eye(4, dtype=bool), axis)
    counts = [found(diagonal, connectivity).count for connectivity in REACH]
    assert counts == [4, 1, 1]


def test_in_a_volume_corners_edges_and_faces_differ():
    mask = np.zeros((3, 3, 3), bool)
    mask[0, 0, 0] = mask[1, 1, 1] = mask[1, 2, 2] = mask[2, 2, 2] = True  # corner, edge, face
    assert [found(mask, connectivity).count for connectivity in REACH] == [3, 2, 1]


def test_the_end_of_a_row_does_not_touch_the_start_of_the_next():
    mask = np.zeros((5, 4, 3), bool)
    mask[4, 1, 0] = mask[0, 2, 0] = True
    mask[2, 3, 1] = mask[2, 0, 2] = True  # the last row of a plane, the first of the next
    assert found(mask).count == 4


def test_nothing_has_no_components():
    parts = found(np.zeros((3, 4, 5), bool))
    assert (parts.count, parts.at(np.arange(60)).tolist()) == (0, [-1] * 60)


def test_components_below_a_size_are_dropped():
    mask = np.zeros((9, 1, 1), bool)
    mask[[0, 1, 2, 4, 5, 7]] = True
    parts = found(mask).at_least(2)
    assert parts.sizes.tolist() == [3, 2]
    assert parts.at(np.arange(9)).tolist() == [0, 0, 0, -1, 1, 1, -1, -1, -1]


@some
@given(shape=shapes, shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), seed=st.integers(0, 999))
def test_common_voxels_are_counted_for_each_pair(shape, shares, seed):
    first, second = (found(mask_of(shape, share, seed + k)) for k, share in enumerate(shares))
    everywhere = np.arange(np.prod(shape))
    pairs = zip(first.at(everywhere).tolist(), second.at(everywhere).tolist(), strict=True)
    expected: dict[tuple[int, int], int] = {}
    for a, b in pairs:
        if a >= 0 and b >= 0:
            expected[a, b] = expected.get((a, b), 0) + 1
    a, b, common = (each.tolist() for each in common_voxels(first, second))
    assert dict(zip(zip(a, b, strict=True), common, strict=True)) == expected


def test_an_unknown_connectivity_is_refused():
    with pytest.raises(ValueError, match="connectivity is 'sides', expected one of faces, edges"):
        found(np.ones((2, 2, 2), bool), "sides")
