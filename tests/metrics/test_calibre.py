"""Calibres of masks that are no vessels: rounding, bounded memory, and what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from segjury.arrays import nonzero_voxels
from segjury.errors import InputError
from segjury.metrics.geometry import calibre, parts
from segjury.metrics.geometry.calibre import calibre_mm
from segjury.metrics.geometry.morphometry import morphometrics
from segjury.metrics.geometry.thinning import skeleton_voxels
from tests.tubes import blob, tube


def test_calibres_do_not_depend_on_how_a_mask_is_cut(monkeypatch):
    mask = np.asfortranarray(tube(7, (1, 2, 3)) | tube(2, (3, -1, 1)))
    voxels = nonzero_voxels(mask)
    thin = skeleton_voxels(voxels, mask.shape)
    expected = calibre_mm(voxels, thin, mask.shape, spacing_mm=(1, 0.7, 0.31))
    monkeypatch.setattr(parts, "SLAB_VOXELS", 1)
    monkeypatch.setattr(calibre, "LONGEST_SPAN", 100)
    found = calibre_mm(voxels, thin, mask.shape, spacing_mm=(1, 0.7, 0.31))
    assert np.array_equal(found, expected)


def test_no_rounding_makes_a_reach_longer_than_the_longest():
    """There, the square of the longest reach differs from its own in the last digit."""
    assert morphometrics(blob(63), spacing_mm=(1, 0.7, 0.31)).radius_mm.maximum > 0


def test_a_full_image_needs_little_memory():
    shape = (64, 64, 96)
    voxels = np.arange(np.prod(shape))
    thin = skeleton_voxels(voxels, shape)
    tracemalloc.start()
    calibre_mm(voxels, thin, shape, spacing_mm=(1, 1, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 * voxels.size


def test_the_centreline_of_noise_is_refused(monkeypatch):
    monkeypatch.setattr(calibre, "SHORT_CENTRELINE", 100)
    mask = np.zeros((20, 20, 20), bool)
    mask[::2, ::2, ::2] = True
    with pytest.raises(InputError, match=r"1,000 voxels, expected at most 320 \(1 in 25 of"):
        morphometrics(mask, spacing_mm=(1, 1, 1))
