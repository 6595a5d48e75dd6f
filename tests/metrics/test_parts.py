"""Counts by slabs: parts against SciPy, and memory that does not follow the number of parts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import ndimage

from segjury.arrays import nonzero_voxels
from segjury.metrics.geometry import parts
from segjury.metrics.topology import betti_from_voxels, betti_numbers
from tests.tubes import gudhi_numbers


@pytest.fixture(params=[1, 400, 1 << 22])
def slab_voxels(request, monkeypatch):
    """Slabs of two planes, of some, or of all."""
    monkeypatch.setattr(parts, "SLAB_VOXELS", request.param)


@pytest.mark.usefixtures("slab_voxels")
@pytest.mark.parametrize("reach", [1, 2, 3])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8])
def test_parts_are_those_of_scipy(share, reach):
    mask = np.random.default_rng(round(100 * share)).random((12, 9, 17)) < share
    count = parts.PartCount(reach)
    for slab, _ in parts.slabs(nonzero_voxels(np.asfortranarray(mask)), mask.shape):
        count.add(slab)
    assert count.count == ndimage.label(mask, ndimage.generate_binary_structure(3, reach))[1]


@pytest.mark.usefixtures("slab_voxels")
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8])
def test_betti_numbers_in_slabs_are_those_of_gudhi(share):
    mask = np.random.default_rng(round(100 * share)).random((12, 9, 17)) < share
    mask[:, :, 5:8] = False  # several planes of nothing
    assert betti_numbers(mask) == gudhi_numbers(mask)


@pytest.mark.usefixtures("slab_voxels")
def test_parts_that_meet_slabs_later_are_one():
    comb = np.zeros((11, 3, 12), bool)
    comb[::2] = True
    comb[:, :, -1] = True
    assert betti_numbers(comb) == gudhi_numbers(comb)
    assert betti_numbers(comb[:, :, ::-1]) == gudhi_numbers(comb)


def test_memory_does_not_follow_the_number_of_parts(monkeypatch):
    monkeypatch.setattr(parts, "SLAB_VOXELS", 1 << 14)
    x, y, z = np.indices((64, 64, 128))
    voxels = nonzero_voxels(np.asfortranarray((x + y + z) % 2 > 0))
    tracemalloc.start()
    betti_from_voxels(voxels, x.shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * x.size
