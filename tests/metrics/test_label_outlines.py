"""Outlines of all labels of a map at once, against those of each label's dense mask."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from segjury.arrays import flat
from segjury.metrics.geometry.surfaces import label_outlines
from segjury.metrics.geometry.surfaces.label_outlines import LabelOutlines

BITS = (1 << np.arange(8)).reshape(2, 2, 2, order="F")


def counted(mask):
    """Edge voxels of a mask, and its corners by pattern, from the dense image."""
    edges = mask & ~ndimage.binary_erosion(mask)
    dense = ndimage.correlate(np.pad(mask, (0, 1)).astype(int), BITS, mode="constant")
    patterns = np.bincount(dense.ravel(), minlength=256)
    patterns[[0, 255]] = 0
    return edges.sum(), patterns


@pytest.mark.parametrize("slab_voxels", [1, 60, 1 << 18])
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_each_mask(seed, slab_voxels, monkeypatch):
    monkeypatch.setattr(label_outlines, "SLAB_VOXELS", slab_voxels)
    rng = np.random.default_rng(seed)
    shape, labels = tuple(rng.integers(2, 9, 3).tolist()), int(rng.integers(1, 6))
    image = rng.integers(1, labels + 1, shape) * (rng.random(shape) < rng.uniform(0.05, 1))
    found = LabelOutlines.of(flat(np.asfortranarray(image.astype(np.uint8))), shape)
    for label in range(1, labels + 1):
        edges, patterns = counted(image == label)
        assert found.edges[label] == edges
        np.testing.assert_array_equal(found.patterns[label], patterns)
    others = [0, *range(labels + 1, 256)]
    assert not found.edges[others].any()
    assert not found.patterns[others].any()
