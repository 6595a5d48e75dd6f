"""What metrics and readings share when one prediction is compared with the reference."""

from __future__ import annotations

import numpy as np
import pytest

from segjury.arrays import flat
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import READINGS, mr_ece
from segjury.metrics.calibration import MrEceOptions
from segjury.metrics.surface import NsdOptions
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.calibration import score_mr_ece
from segjury.scoring.scorers.surface import score_nsd


def compared(raters, p):
    grid = Grid(p.shape)
    return Comparison(
        ReferenceCase(grid, pack(raters), ("lesion",), {}),
        PredictedCase(SparseLabels.of(flat(p > 0.5)), (Volume(p, grid),)),
        lowest_threshold=0.1,
    )


@pytest.mark.parametrize("place", [(8, 9, 10), (1, 9, 14)], ids=["inside", "at the border"])
def test_each_reading_of_calibration_counts_in_its_own_box(place):
    shape = (16, 17, 18)
    raters = np.zeros((2, *shape), bool)
    x, y, z = place
    raters[:, x : x + 3, y : y + 2, z : z + 4] = True
    raters[1, x, y, z] = False
    p = np.asfortranarray(np.random.default_rng(1).random(shape))
    comparison = compared(raters, p)
    options = MrEceOptions(padding_voxels=3)
    found = [score_mr_ece(comparison, 1, options, reading).value for reading in READINGS]
    expected = [mr_ece(raters, p, padding_voxels=3, reading=reading) for reading in READINGS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[1] != found[2]


def test_the_released_nsd_takes_one_slice_for_a_volume():
    reference, prediction = np.zeros((2, 8, 8, 1), bool)
    reference[2:6, 2:6] = prediction[1:7, 1:7] = True
    comparison = compared(reference[None], np.asfortranarray(prediction.astype(np.float32)))
    options = NsdOptions(tolerance_mm=0.5, released_tolerance_voxels=0.5, definition="edge-voxels")
    # every voxel has a neighbour outside the slice: 16 of 16 and 16 of 36 lie in the other mask
    assert score_nsd(comparison, 1, options, "released").value == pytest.approx(32 / 52)
    assert score_nsd(comparison, 1, options, "corrected").value == 0
