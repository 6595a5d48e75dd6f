"""What metrics and readings share when one prediction is compared with the reference."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from segjury.arrays import flat
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from segjury.metrics import READINGS, crowded, mr_ece
from segjury.metrics.calibration import MrEceOptions
from segjury.metrics.geometry import calibre
from segjury.metrics.metric import Options
from segjury.metrics.surface import NsdOptions
from segjury.protocols import load_protocol
from segjury.scoring.comparison import Comparison
from segjury.scoring.score import score
from segjury.scoring.scorers.calibration import score_mr_ece
from segjury.scoring.scorers.surface import score_nsd
from segjury.scoring.scorers.topology import score_small_recall


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


def label_maps(shape, classes, rng):
    """A reference of small boxes of all classes, and a prediction of noise all over."""
    reference = np.zeros(shape, np.uint8, "F")
    for label in range(1, classes + 1):
        x, y, z = rng.integers(0, np.array(shape) - 6).tolist()
        reference[x : x + 5, y : y + 6, z : z + 4] = label
    noise = rng.integers(1, classes + 1, shape, np.uint8)
    return reference, np.asfortranarray(noise)


def of_labels(reference, prediction):
    protocol, grid = load_protocol("aortaseg-2024"), Grid(reference.shape, (0.7, 1.1, 2.5))
    names = tuple(protocol.reference.labels)
    patterns = pack(reference[None], n_labels=len(names) + 1)
    scored = score(
        ReferenceCase(grid, patterns, names, {}),
        PredictedCase(SparseLabels.of(prediction)),
        protocol,
    )
    return {(row.metric, row.structure, row.reading): row.value for row in scored.rows}


def test_scores_of_a_crowded_map_are_those_of_its_masks(monkeypatch):
    reference, prediction = label_maps((20, 22, 24), 23, np.random.default_rng(0))
    expected = of_labels(reference, prediction)
    monkeypatch.setattr(crowded, "MANY_VOXELS", 0)
    assert of_labels(reference, prediction) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_noise_of_many_labels_takes_a_few_bytes_per_voxel():
    shape = (160, 160, 100)
    reference, prediction = label_maps(shape, 23, np.random.default_rng(0))
    of_labels(reference[:9, :9, :9], prediction[:9, :9, :9].copy("F"))  # what is made once
    tracemalloc.start()
    of_labels(reference, prediction)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 25 * reference.size


def test_a_reference_that_is_no_vessels_leaves_small_recall_undefined(monkeypatch):
    monkeypatch.setattr(calibre, "SHORT_CENTRELINE", 100)
    reference = np.zeros((1, 20, 20, 20), bool)
    reference[:, ::2, ::2, ::2] = True
    comparison = compared(reference, np.asfortranarray(reference[0].astype(np.float32)))
    found = score_small_recall(comparison, 1, Options(), "corrected")
    assert math.isnan(found.value)
    assert not found.fault
    assert found.note.startswith("the reference has a centreline of 1,000 voxels")
