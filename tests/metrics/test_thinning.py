"""Thinning: voxel for voxel that of scikit-image, and work that follows the number of voxels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from skimage.morphology import skeletonize

from segjury.arrays import flat, nonzero_voxels
from segjury.metrics.geometry import peeling, thinning
from tests.tubes import blob, gudhi_numbers, masks


def foam(shape):
    """Full but for closed cavities, one in eight voxels."""
    mask = np.ones(shape, bool)
    mask[1:-1:2, 1:-1:2, 1:-1:2] = False
    return mask


def lee(mask):
    thin = np.zeros(mask.shape, bool, order="F")
    voxels = nonzero_voxels(np.asfortranarray(mask))
    flat(thin)[thinning.thin_voxels(voxels, mask.shape, "lee")] = True
    return thin


def scikit_image(mask):
    """Its skeleton; in 2D where an axis has no extent."""
    plane = mask.squeeze()
    if mask.size > 1 and plane.ndim < 3:
        return skeletonize(np.atleast_2d(plane), method="lee").reshape(mask.shape)
    return skeletonize(mask, method="lee")


@pytest.fixture(params=["pieces", "whole"])
def pieces(request, monkeypatch):
    """Blocks and pieces that are far smaller than the masks, or far larger."""
    if request.param == "pieces":
        monkeypatch.setattr(peeling, "BLOCK", 8)
        monkeypatch.setattr(peeling, "PIECE", 32)
        monkeypatch.setattr(thinning, "PIECE", 32)


@settings(max_examples=100)
@given(mask=masks)
def test_lee_is_that_of_scikit_image(mask):
    assert np.array_equal(lee(mask), scikit_image(mask))


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("rounds", [0, 1, 16])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_lee_of_noise_is_that_of_scikit_image(monkeypatch, rounds, share):
    monkeypatch.setattr(thinning, "ROUNDS", rounds)
    mask = np.random.default_rng(round(10 * share)).random((13, 11, 9)) < share
    assert np.array_equal(lee(mask), scikit_image(mask))


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_lee_of_thick_shapes_is_that_of_scikit_image(share):
    mask = blob(round(10 * share), share=share)[:, :16, :12]
    assert np.array_equal(lee(mask), scikit_image(mask))


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("axis", range(3))
def test_lee_of_planes_is_that_of_scikit_image(step, axis):
    mask = np.zeros((9, 12, 15), bool)
    np.moveaxis(mask, axis, 0)[1:-1:step] = True
    assert np.array_equal(lee(mask), scikit_image(mask))


def test_candidates_in_a_row_that_decide_one_another_are_judged_in_turn():
    """In this pattern, each voxel of a row stays or goes as the one before does not."""
    tile = np.unpackbits(np.uint8([160, 34, 16]))[:20].reshape(2, 5, 2) > 0
    mask = np.tile(tile, (24, 10, 24))
    assert np.array_equal(lee(mask), scikit_image(mask))


def test_neither_thinning_changes_what_cannot_be_thinned():
    mask = foam((9, 9, 9))
    assert gudhi_numbers(lee(mask)) == gudhi_numbers(mask)
    assert np.array_equal(lee(lee(mask)), lee(mask))


@pytest.mark.parametrize("method", ["lee", "topology-preserving"])
def test_a_voxel_is_judged_a_bounded_number_of_times(monkeypatch, method):
    """Layers of a solid one after the other, beside cavities whose walls stay from the first on."""
    mask = np.ones((40, 40, 80), bool, order="F")
    mask[:, :, 40:] = foam((40, 40, 40))
    judged = 0
    real = peeling.Verdicts.of

    def counted(self, code):
        nonlocal judged
        judged += code.size
        return real(self, code)

    monkeypatch.setattr(peeling.Verdicts, "of", counted)
    thinning.thin_voxels(nonzero_voxels(mask), mask.shape, method)
    assert judged < 6 * mask.sum()  # of 20 passes in six directions each
