"""Distances of voxel sets: golden numbers, brute force, and the laws of each metric."""

from __future__ import annotations

import itertools
import json
import math

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial.distance import cdist

from segjury.metrics.distances import (
    AHD,
    BAVD,
    VoxelSet,
    ahd,
    bavd,
    bavd_from_distances,
    voxel_distances,
)
from segjury.metrics.laws import blob
from tests.places import GOLDEN

FILES = GOLDEN / "evaluatesegmentation"
EXPECTED = json.loads((FILES / "golden.json").read_text())
TOOL_NAMES = {"AVGDIST": ahd, "bAVD": bavd}

few = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("pair", EXPECTED)
def test_golden_numbers(pair):
    expected = EXPECTED[pair]
    assert not expected["options"]  # voxel units
    truth, predicted = (
        np.asanyarray(nib.load(FILES / expected[name]).dataobj) > 0 for name in ("truth", "pred")
    )
    for name, metric in TOOL_NAMES.items():
        known = float(expected["values"].get(name, math.nan))  # the tool refuses empty masks
        assert metric(truth, predicted) == pytest.approx(known, abs=1e-9, nan_ok=True)


@few
@given(seed=seeds)
def test_every_voxel_against_every_voxel(seed):
    rng = np.random.default_rng(seed)
    shape, spacing_mm = rng.integers(2, 9, 3), (0.7, 1.1, 2.5)
    noise = ndimage.gaussian_filter(rng.random((2, *shape)), (0, 0.8, 0.8, 0.8))
    a, b = noise > np.quantile(noise, rng.uniform(0.2, 0.9))
    a.flat[0] = b.flat[-1] = True  # not empty
    apart = cdist(np.argwhere(a) * spacing_mm, np.argwhere(b) * spacing_mm)
    there, back = apart.min(axis=1), apart.min(axis=0)
    approximately = {"abs": 1e-12}
    assert bavd(a, b, spacing_mm=spacing_mm) == pytest.approx(
        (there.sum() + back.sum()) / 2 / a.sum(), **approximately
    )
    assert ahd(a, b, spacing_mm=spacing_mm) == pytest.approx(
        (there.mean() + back.mean()) / 2, **approximately
    )


def row(*voxels):
    mask = np.zeros((12, 1, 1), bool)
    mask[list(voxels)] = True
    return mask


def test_by_hand():
    reference, prediction = row(0, 1, 2, 3), row(2, 3, 4, 5, 6)
    missed, added = 2 + 1, 1 + 2 + 3
    assert bavd(reference, prediction) == (missed + added) / 2 / 4
    assert bavd(prediction, reference) == (missed + added) / 2 / 5
    assert ahd(reference, prediction) == (missed / 4 + added / 5) / 2
    assert bavd(reference, prediction, spacing_mm=(0.5, 1.0, 1.0)) == (missed + added) / 4 / 4


def test_empty_masks_are_undefined():
    something, nothing = row(3), row()
    for pair in ((something, nothing), (nothing, something), (nothing, nothing)):
        for metric in (bavd, ahd):
            assert math.isnan(metric(*pair))


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match=r"prediction has shape \(1, 1, 12\)"):
        bavd(row(1), row(1).T)
    with pytest.raises(ValueError, match="spacing is"):
        bavd(row(1), row(1), spacing_mm=(1.0, math.nan, 1.0))


def test_one_reference_serves_many_predictions():
    shape = (450, 450, 695)
    corner = math.prod(shape) - 1
    reference = VoxelSet(np.array([0, corner]), shape)
    near, far = (VoxelSet(np.array(voxels), shape) for voxels in ([1, corner], [0]))
    assert bavd_from_distances(voxel_distances(reference, near)) == (1 + 1) / 2 / 2
    diagonal = math.hypot(449, 449, 694)
    assert bavd_from_distances(voxel_distances(reference, far)) == pytest.approx(diagonal / 4)
    assert reference.edge.tree is reference.edge.tree


# ---- laws -------------------------------------------------------------------------------------

SCORES = {BAVD: bavd, AHD: ahd}
each = pytest.mark.parametrize("metric", SCORES, ids=lambda metric: metric.name)


def two_blobs(seed):
    rng = np.random.default_rng(seed)
    return blob(rng, 0.35), blob(rng, 0.3)


@each
@few
@given(seed=seeds)
def test_identity_bounds_and_declared_symmetry(metric, seed):
    a, b = two_blobs(seed)
    score = SCORES[metric]
    assert score(a, a) == metric.best
    assert 0 < score(a, b) < math.inf
    if metric.symmetric:
        assert score(b, a) == pytest.approx(score(a, b), abs=1e-12)
    elif a.sum() != b.sum():  # what is divided by is the reference's size
        assert score(b, a) * b.sum() == pytest.approx(score(a, b) * a.sum())
        assert score(b, a) != score(a, b)


@each
def test_flips_and_axis_permutations(metric):
    (a, b), spacing_mm = two_blobs(3), (0.7, 1.0, 2.5)
    before = SCORES[metric](a, b, spacing_mm=spacing_mm)
    for axes in itertools.permutations(range(3)):
        turned = tuple(spacing_mm[axis] for axis in axes)
        for flips in ((), (0,), (1, 2), (0, 1, 2)):
            moved = (np.flip(mask.transpose(axes), flips) for mask in (a, b))
            assert SCORES[metric](*moved, spacing_mm=turned) == pytest.approx(before, abs=1e-12)


@each
@few
@given(seed=seeds)
def test_millimetres_scale_and_voxels_do_not(metric, seed):
    a, b = two_blobs(seed)
    score = SCORES[metric]
    assert metric.scales_with == "nothing"
    assert score(a, b, spacing_mm=(2.0, 2.0, 2.0)) == pytest.approx(2 * score(a, b))


@each
@few
@given(seed=seeds)
def test_a_worse_mask_never_scores_better(metric, seed):
    reference = blob(np.random.default_rng(seed), 0.5)
    mask, values = reference, []
    while mask.any():
        values.append(SCORES[metric](reference, mask))
        mask = ndimage.binary_erosion(mask)
    assert len(values) >= 4
    assert (np.diff(values) >= 0).all()
