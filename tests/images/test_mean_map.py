"""The mean of several masks as a probability map."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from segjury.arrays import flat
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.mean_map import mean_map

GRID = Grid((33, 20, 30), (1.0, 2.0, 3.0))


def test_each_value_is_the_share_of_samples_with_the_label():
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (7, *GRID.shape)).astype(np.uint8)
    dense[:4, :, :, 2:] = 0  # few enough to be listed
    samples = [SparseLabels.of(np.asfortranarray(each)) for each in dense]
    assert [sample.listed is None for sample in samples] == [False] * 4 + [True] * 3
    found = mean_map(samples, GRID, np.arange(3) == 2)
    expected = (dense == 2).sum(axis=0) / 7
    assert found.grid is GRID
    assert found.array.dtype == np.float32
    assert np.array_equal(found.array, expected.astype(np.float32))


def test_both_ways_of_keeping_labels_count_alike():
    mask = np.zeros(GRID.shape, np.uint8, "F")
    mask[3:9, 4:6, 7:9] = 1
    listed = SparseLabels.of(mask)
    image = SparseLabels(None, flat(mask), ((0, mask.size),))
    found = mean_map([listed, image, SparseLabels.of(mask * 0)], GRID, np.arange(3) == 1)
    assert np.array_equal(found.array, mask * np.float32(2 / 3))


@pytest.mark.parametrize("n", [1, 3, 10, 49, 255, 256, 1000])
def test_a_value_is_the_nearest_of_its_kind(n):
    one, nothing = np.ones((1, 1, 1), np.uint8), np.zeros((1, 1, 1), np.uint8)
    rng = np.random.default_rng(n)
    for k in {1, n, *rng.integers(1, n + 1, 5).tolist()}:
        samples = [SparseLabels.of(one)] * k + [SparseLabels.of(nothing)] * (n - k)
        value = mean_map(samples, Grid((1, 1, 1)), np.arange(3) == 1).array[0, 0, 0]
        off = abs(Fraction(float(value)) - Fraction(k, n))
        for neighbour in (np.nextafter(value, np.float32(0)), np.nextafter(value, np.float32(2))):
            assert off <= abs(Fraction(float(neighbour)) - Fraction(k, n))


def test_what_is_known_to_be_zero_is_little_more_than_what_is():
    grid = Grid((64, 64, 64))
    masks = np.zeros((2, *grid.shape), np.uint8)
    masks[0, 10:20, 10:20, 5], masks[1, 10:20, 10:20, 50] = 1, 1
    found = mean_map(
        [SparseLabels.of(np.asfortranarray(m)) for m in masks], grid, np.arange(3) == 1
    )
    inside = np.zeros(grid.shape, bool, "F")
    for start, stop in found.spans:
        flat(inside)[start:stop] = True
    assert not found.array[~inside].any()
    assert inside.sum() <= 4 * 4096
    assert found.array[10, 10, 5] == found.array[10, 10, 50] == 0.5


def test_no_label_anywhere_and_no_sample():
    nothing = SparseLabels.of(np.zeros(GRID.shape, np.uint8, "F"))
    found = mean_map([nothing], GRID, np.arange(3) == 1)
    assert found.spans == ()
    assert not found.array.any()
    with pytest.raises(ValueError, match="no sample"):
        mean_map([], GRID, np.arange(3) == 1)
