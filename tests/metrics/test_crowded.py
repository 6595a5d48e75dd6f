"""NSD of a label in a map, against that of its mask, of which all is listed."""

from __future__ import annotations

import numpy as np
import pytest

from segjury.arrays import flat, nonzero_voxels
from segjury.metrics.crowded import CrowdedMap, label_nsd
from segjury.metrics.surface import mask_surface, nsd

each_definition = pytest.mark.parametrize("definition", ["surfel", "edge-voxels"])


def of_map(reference, labels, label, spacing_mm, tolerance_mm, definition):
    surface = mask_surface(
        nonzero_voxels(reference), reference.shape, spacing_mm, definition=definition
    )
    painted = flat(np.asfortranarray(labels.astype(np.uint8)))
    return label_nsd(surface, CrowdedMap(painted, reference.shape), label, tolerance_mm)


@each_definition
@pytest.mark.parametrize("seed", range(8))
def test_nsd_is_that_of_the_mask(seed, definition):
    rng = np.random.default_rng(seed)
    shape, spacing_mm = tuple(rng.integers(3, 24, 3).tolist()), (0.7, 1.1, 2.5)
    labels = rng.integers(1, 4, shape) * (rng.random(shape) < rng.uniform(0.02, 1))
    reference = np.zeros(shape, bool)
    low = rng.integers(0, shape)
    x, y, z = (slice(a, a + int(rng.integers(1, 6))) for a in low.tolist())
    reference[x, y, z] = True  # near the border or at it, often
    for label in (1, 2, 3, 4):  # there is no 4
        for tolerance_mm in (0.0, 1.1, 2.5, 60.0):
            given = spacing_mm, tolerance_mm, definition
            expected = nsd(
                reference,
                labels == label,
                spacing_mm=spacing_mm,
                tolerance_mm=tolerance_mm,
                definition=definition,
            )
            found = of_map(reference, labels, label, *given)
            assert found == pytest.approx(expected, abs=1e-12)


@each_definition
def test_a_perfect_label_among_others_has_exactly_1(definition):
    labels = np.random.default_rng(0).integers(0, 4, (12, 13, 14))
    assert of_map(labels == 2, labels, 2, (0.7, 1.1, 2.5), 0.0, definition) == 1


@each_definition
def test_a_distance_equal_to_the_tolerance_is_within_it(definition):
    # 3 x 0.1 is a little more than 0.3 in floating point
    reference, labels = np.zeros((2, 9, 3, 3), int)
    reference[1, 1, 1] = labels[4, 1, 1] = 1
    labels[8] = 2
    assert of_map(reference == 1, labels, 1, (0.1, 1.0, 1.0), 0.3, definition) == 1
    assert of_map(reference == 1, labels, 1, (0.1, 1.0, 1.0), 0.1, definition) == 0


@each_definition
@pytest.mark.parametrize("tolerance_mm", [1e12, 1e300])
def test_a_tolerance_beyond_any_image_is_one(definition, tolerance_mm):
    reference, labels = np.zeros((2, 6, 7, 8), int)
    reference[0, 0, 0] = labels[5, 6, 7] = 1
    given = (0.7, 1.1, 2.5), tolerance_mm
    assert of_map(reference == 1, labels, 1, *given, definition) == 1
    named = {"spacing_mm": given[0], "tolerance_mm": tolerance_mm, "definition": definition}
    assert nsd(reference, labels, **named) == 1


@each_definition
def test_empty_references_and_labels(definition):
    nothing, something = np.zeros((2, 4, 4, 4), int)
    something[1, 1, 1] = 1
    given = (1.0, 1.0, 1.0), 2.0, definition
    assert of_map(nothing == 1, something, 1, *given) == 0
    assert of_map(something == 1, nothing, 1, *given) == 0
    assert of_map(nothing == 1, nothing, 1, *given) == 1
